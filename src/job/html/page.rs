//! The contents of a report before it is drawn: the same for HTML, JSON and CSV.

use crate::chart::table::field;
use crate::chart::{Figure, Table};
use serde::Serialize;

/// A report.
#[derive(Debug, Clone, Serialize)]
pub struct Page {
    /// The job's name.
    pub title: String,
    /// How the job stands, in a word or two.
    pub state: String,
    /// How good that is.
    pub mood: Mood,
    /// A sentence about what was done.
    pub lead: String,
    /// Sentences about what is missing or damaged, or went wrong.
    pub notices: Vec<String>,
    /// The answers: what was found, and the rest of it.
    pub answers: Vec<(String, String)>,
    /// Figures of what it took: name and value.
    pub costs: Vec<(String, String)>,
    /// Reasons for and against trust in the answers.
    pub trust: Vec<String>,
    /// The parts of the report.
    pub sections: Vec<Section>,
    /// The last lines of the log.
    pub log: Vec<String>,
    /// A sentence about what made the report.
    pub made: String,
}

/// How good a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mood {
    /// All is well.
    Good,
    /// Something went wrong.
    Bad,
    /// It is not done.
    Wait,
}

/// A part of a report.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Section {
    /// Its place in the page.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Sentences before its figures.
    pub text: Vec<String>,
    /// A table of facts, which stands on top.
    pub facts: Option<Table>,
    /// Tables, each with its caption, which stand below the figures.
    pub tables: Vec<(String, Table)>,
    /// Pictures.
    pub figures: Vec<Figure>,
    /// The numbers of the first picture, where there are more than its marks show.
    pub numbers: Option<Table>,
}

impl Section {
    /// Makes a part without anything in it.
    pub fn new(id: &str, title: &str) -> Section {
        Section { id: id.to_owned(), title: title.to_owned(), ..Section::default() }
    }

    /// Returns the numbers of a picture, if they are not those of its marks.
    pub fn numbers_of(&self, at: usize) -> Option<&Table> {
        self.numbers.as_ref().filter(|_| at == 0)
    }

    /// Returns true if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.facts.is_none() && self.tables.is_empty() && self.figures.is_empty()
    }
}

impl Page {
    /// Returns all tables, those of figures too, as CSV: a line with its heading before each.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let facts = section.facts.iter().map(|table| ("facts", table.clone()));
            let tables = section.tables.iter().map(|(caption, table)| (caption.as_str(), table.clone()));
            let numbers =
                |at: usize, figure: &Figure| section.numbers_of(at).cloned().unwrap_or_else(|| figure.table());
            let figures = section.figures.iter().enumerate();
            let figures = figures.map(|(at, figure)| (figure.title.as_str(), numbers(at, figure)));
            for (caption, table) in facts.chain(figures).chain(tables) {
                let heading = field(&format!("# {}: {caption}", section.title));
                text.push_str(&format!("{heading}\n{}\n", table.csv()));
            }
        }
        text
    }
}

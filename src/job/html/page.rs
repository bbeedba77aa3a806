//! The contents of a report before rendering. HTML, JSON and CSV are generated from them.

use crate::chart::table::field;
use crate::chart::{Figure, Table};
use serde::Serialize;

/// The contents of a report.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Page {
    /// Name of the job.
    pub title: String,
    /// State of the job, in a word or two.
    pub state: String,
    /// Whether the state is good, bad, or still open.
    pub mood: Severity,
    /// A sentence about what was computed, on which input and machine, and in which time.
    pub lead: String,
    /// Sentences about missing or damaged files, and errors.
    pub notices: Vec<String>,
    /// Answers of the job, each as a pair: its first sentence, and the remaining sentences.
    pub answers: Vec<(String, String)>,
    /// Time, memory and other resources that the job used, as pairs of a name and a value.
    pub costs: Vec<(String, String)>,
    /// Reasons for and against trusting the answers.
    pub trust: Vec<String>,
    /// Sections of the report.
    pub sections: Vec<PageSection>,
    /// Last lines of the log.
    pub log: Vec<String>,
    /// Sentence that names the program that made the report, and the time.
    pub footer: String,
}

/// Assessment of a job's state, which selects the colour of the state in the report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The job is complete, or the compared runs do not differ in a way that matters.
    Good,
    /// Something failed.
    Bad,
    /// The job is not complete.
    #[default]
    Wait,
}

/// A section of a report.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PageSection {
    /// Id of the section's HTML element, for links within the page.
    pub id: String,
    /// Heading of the section.
    pub title: String,
    /// Sentences above the charts.
    pub text: Vec<String>,
    /// Table of properties and their values, at the top of the section.
    pub facts: Option<Table>,
    /// Tables below the charts, each with its caption.
    pub tables: Vec<(String, Table)>,
    /// Charts of the section.
    pub figures: Vec<Figure>,
    /// Table shown in place of the numbers of the first chart; `None` if those numbers are shown.
    pub numbers: Option<Table>,
}

impl PageSection {
    /// Creates an empty section.
    pub fn new(id: &str, title: &str) -> PageSection {
        PageSection { id: id.to_owned(), title: title.to_owned(), ..PageSection::default() }
    }

    /// Returns the table shown in place of the numbers of the chart at index `at`; `None` if those numbers are shown.
    pub fn numbers_of(&self, at: usize) -> Option<&Table> {
        self.numbers.as_ref().filter(|_| at == 0)
    }

    /// Returns true if the section has no content.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.facts.is_none() && self.tables.is_empty() && self.figures.is_empty()
    }
}

impl Page {
    /// Returns all tables, including the data of the charts, as CSV. A title line precedes each table.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let facts = section.facts.iter().map(|table| ("facts", table.clone()));
            let tables = section.tables.iter().map(|(caption, table)| (caption.as_str(), table.clone()));
            let numbers = |(at, figure): (usize, &Figure)| section.numbers_of(at).cloned().unwrap_or(figure.table());
            let figures = section.figures.iter().enumerate().map(|one| (one.1.title.as_str(), numbers(one)));
            for (caption, table) in facts.chain(figures).chain(tables) {
                let heading = field(&format!("# {}: {caption}", section.title));
                text.push_str(&format!("{heading}\n{}\n", table.csv()));
            }
        }
        text
    }
}

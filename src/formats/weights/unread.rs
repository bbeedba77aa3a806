//! Says of a file without weights which columns may be these.

use crate::formats::input::estimate;
use crate::formats::{Columns, Format, Part, contents, parquet, text};

/// Most columns that a message names.
const NAMED: usize = 6;

/// Columns of numbers that are not read.
#[derive(Debug, Clone)]
pub struct Unread {
    /// The columns for messages, such as `numbers in the column "length"`.
    pub found: String,
    /// What reads one of them as the weight.
    pub remedy: String,
}

impl Unread {
    /// Looks for columns of numbers in a file whose edges have no weights. Whatever is wrong with the file is left to the scan.
    pub(in crate::formats) fn of(part: &Part) -> Option<Unread> {
        match part.format() {
            Format::Text => {
                let file = std::fs::File::open(part.path()).ok()?;
                let mut prefix = Vec::new();
                estimate::prefix_of(&file, part, &mut prefix).ok()?;
                let start = contents::text_start(&prefix, Format::Text).ok()?;
                Unread::of_text(&text::unread(&prefix, start, part))
            }
            Format::Parquet => {
                let (names, remedy) = parquet::unread(part)?;
                Some(Unread { found: found(&names), remedy })
            }
            _ => None,
        }
    }

    fn of_text(columns: &[(String, Columns)]) -> Option<Unread> {
        let (_, first) = columns.first()?;
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let typed = match first {
            Columns::Names(names) => names.join(","),
            Columns::Numbers(numbers) => numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
            Columns::Auto => return None,
        };
        let which = if names.len() == 1 { "if these are the weights, say so" } else { "choose the weights, as in" };
        Some(Unread {
            found: found(&names),
            remedy: format!("{which}: [input] columns = {first}, convert --columns {typed}"),
        })
    }
}

fn found(names: &[String]) -> String {
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    let columns = if names.len() == 1 { "column" } else { "columns" };
    format!("numbers in the {columns} {}{more}", names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", "))
}

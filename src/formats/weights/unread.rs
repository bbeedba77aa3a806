//! Names the columns of a file without weights that may be its weights.

use crate::formats::input::estimate;
use crate::formats::{Columns, Format, Part, contents, parquet, text};

/// Maximum number of columns that a message names.
const NAMED: usize = 6;

/// Numeric columns that are not read.
#[derive(Debug, Clone)]
pub struct Unread {
    /// The columns as a message names them, such as `numbers in the column "length"`.
    pub found: String,
    /// The options that read one of them as the weight.
    pub remedy: String,
}

impl Unread {
    /// Looks for numeric columns in a file whose edges have no weights. Mistakes in the file are left to the scan.
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

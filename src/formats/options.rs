//! Options for reading text, from the job file or the command line: which columns contain the ids, and how many lines
//! precede the edges.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum number of a column; no line can have more columns.
const MOST: u64 = 1 << 20;

/// Options for reading lines of text. They determine which edges the same bytes yield.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct TextOptions {
    /// The columns that contain the ids and, optionally, the weight.
    pub columns: Columns,
    /// Number of lines to skip at the start of each file, not counting comments and blank lines. With `None` no line
    /// is skipped, and a first line that looks like counts is rejected.
    pub skip_lines: Option<u64>,
    /// Kind of the ids: numbers or strings.
    pub ids: IdKind,
}

/// Kind of the ids in text and tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdKind {
    /// Ids are whole numbers.
    #[default]
    Number,
    /// Ids are strings. They get dense ids in byte order.
    String,
}

/// The columns of the two ids and, optionally, of the weight.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Columns {
    /// The columns that the header line names. Without a header line: columns 1 and 2, and column 3 if it contains
    /// weights.
    #[default]
    Auto,
    /// Two or three 1-based column numbers.
    Numbers(Vec<u64>),
    /// Two or three names from the header line.
    Names(Vec<String>),
}

impl TextOptions {
    /// Returns true if these options have the same effect as the default options.
    pub fn are_default(&self) -> bool {
        self.columns == Columns::Auto && self.skip_lines.unwrap_or(0) == 0 && self.ids == IdKind::Number
    }
}

impl IdKind {
    /// Kinds of ids, with their names in `[input] ids` and `convert --ids`.
    pub const NAMED: [(&'static str, IdKind); 2] = [("number", IdKind::Number), ("string", IdKind::String)];
}

impl Columns {
    /// Chooses columns by their 1-based numbers.
    ///
    /// # Errors
    /// A description of the mistake, if the numbers are not two or three different columns.
    pub fn numbers(numbers: Vec<u64>) -> Result<Columns, String> {
        if let Some(number) = numbers.iter().find(|number| !(1..=MOST).contains(*number)) {
            return Err(format!("columns are numbered from 1 to {MOST}, found {number}"));
        }
        distinct(&numbers)?;
        Ok(Columns::Numbers(numbers))
    }

    /// Chooses columns by their names in the header line.
    ///
    /// # Errors
    /// A description of the mistake, if the names are not two or three different ones, or one is empty.
    pub fn names(names: Vec<String>) -> Result<Columns, String> {
        if names.iter().any(|name| name.trim().is_empty()) {
            return Err("a column's name can't be empty: give its number".into());
        }
        distinct(&names)?;
        Ok(Columns::Names(names))
    }

    /// Returns true if a weight column is chosen.
    pub fn has_weight(&self) -> bool {
        match self {
            Columns::Auto => false,
            Columns::Numbers(numbers) => numbers.len() == 3,
            Columns::Names(names) => names.len() == 3,
        }
    }
}

fn distinct<T: PartialEq>(columns: &[T]) -> Result<(), String> {
    let twice = columns.iter().enumerate().any(|(at, column)| columns[..at].contains(column));
    match columns.len() {
        2 | 3 if !twice => Ok(()),
        2 | 3 => Err("the same column is given twice".into()),
        count => Err(format!("expected the columns of two ids and perhaps that of a weight, found {count}")),
    }
}

impl FromStr for IdKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = IdKind::NAMED.into_iter().find(|(name, _)| *name == text).map(|(_, kind)| kind);
        kind.ok_or_else(|| "expected number or string".into())
    }
}

/// Parses the command-line notation of columns: `auto`, `2,3` or `src,dst,weight`.
impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            return Ok(Columns::Auto);
        }
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let numbers: Vec<Option<u64>> = fields.iter().map(|field| field.parse().ok()).collect();
        match numbers.iter().copied().collect::<Option<Vec<u64>>>() {
            Some(numbers) => Columns::numbers(numbers),
            None if numbers.iter().any(Option::is_some) => Err("give all columns by number, or all by name".into()),
            None => Columns::names(fields.into_iter().map(str::to_owned).collect()),
        }
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Columns::Auto => f.write_str("auto"),
            Columns::Numbers(numbers) => write!(f, "{numbers:?}"),
            Columns::Names(names) => write!(f, "{names:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_command_line() {
        let names = |names: &[&str]| Ok(Columns::Names(names.iter().map(|&name| name.to_owned()).collect()));
        assert_eq!("auto".parse(), Ok(Columns::Auto));
        assert_eq!("2, 3".parse(), Ok(Columns::Numbers(vec![2, 3])));
        assert_eq!("3,1,2".parse(), Ok(Columns::Numbers(vec![3, 1, 2])));
        assert_eq!("src,dst".parse(), names(&["src", "dst"]));
        assert_eq!("a b , c,w".parse(), names(&["a b", "c", "w"]));
        for bad in ["", "2", "0,1", "1,1", "1,2,3,4", "a,a", "1,b", "a,", "1048577,1", "-1,2"] {
            assert!(bad.parse::<Columns>().is_err(), "{bad}");
        }
    }
}

//! The weights that a user requests, and the choice of their type after a scan.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{WeightType, Weights};
use crate::error::{Error, Result};

/// Maximum number of columns that a message lists.
const NAMED: usize = 6;

/// How the weights of an input are read: `[input] weights`, `convert --weights`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WeightsOption {
    /// Reads weights in the type that they have in the input, or no weights if the input has none.
    #[default]
    Auto,
    /// Reads no weights.
    None,
    /// Reads integer weights below 2^32, which the input must have.
    U32,
    /// Reads integer weights below 2^64, which the input must have.
    U64,
    /// Reads weights, which the input must have, and converts them to f32.
    F32,
    /// Reads weights, which the input must have, and converts them to f64.
    F64,
}

impl WeightsOption {
    /// All values of the option, with their names in job files and on the command line; the first is the default.
    pub const NAMED: [(&'static str, WeightsOption); 6] = [
        ("auto", WeightsOption::Auto),
        ("none", WeightsOption::None),
        ("u32", WeightsOption::U32),
        ("u64", WeightsOption::U64),
        ("f32", WeightsOption::F32),
        ("f64", WeightsOption::F64),
    ];

    /// Returns the name of the value in job files and on the command line.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, option)| *option == self).map_or("", |(name, _)| name)
    }

    /// Returns the type that the option names; `None` for `auto` and `none`.
    pub fn named(self) -> Option<WeightType> {
        match self {
            WeightsOption::Auto | WeightsOption::None => None,
            WeightsOption::U32 => Some(WeightType::U32),
            WeightsOption::U64 => Some(WeightType::U64),
            WeightsOption::F32 => Some(WeightType::F32),
            WeightsOption::F64 => Some(WeightType::F64),
        }
    }

    /// Returns how the first scan of the input treats weights.
    #[doc(hidden)]
    pub fn first(self) -> Weights {
        match self {
            WeightsOption::None => Weights::Skip,
            _ => self.named().map_or(Weights::Find, Weights::Read),
        }
    }

    /// Returns the type in which weights are read after the first scan, which found weights of type `found`; `None` if
    /// the input has none, or if the user wants none.
    ///
    /// # Errors
    /// [`Error::Usage`] if the option names a type but the input has edges and none of them has a weight.
    #[doc(hidden)]
    pub fn decide(
        self,
        found: Option<WeightType>,
        edges: u64,
        missing: impl FnOnce() -> Error,
    ) -> Result<Option<WeightType>> {
        match (self.named(), found) {
            (Some(_), None) if edges > 0 => Err(missing()),
            (Some(kind), _) => Ok(Some(kind)),
            (None, found) => Ok(found.filter(|_| self != WeightsOption::None)),
        }
    }
}

impl FromStr for WeightsOption {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = WeightsOption::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, option)| option);
        named.ok_or_else(|| format!("unknown weights {name:?}: one of auto, none, u32, u64, f32, f64"))
    }
}

impl fmt::Display for WeightsOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the error for an input without weights although the user requested them. `unread` are columns that may
/// contain the weights.
pub fn missing(name: &str, unread: Option<&UnreadColumns>) -> Error {
    let (but, remedy) = match unread {
        Some(UnreadColumns { found, remedy }) => (format!(", but {found}"), remedy.as_str()),
        None => (String::new(), "name a file that has them"),
    };
    Error::Usage(format!(
        "{name}: expected weights, as asked for, found none{but}; {remedy}; or ask for none: [input] weights = \"none\", \
         convert --weights none"
    ))
}

/// Numeric columns of a file that are read neither as ids nor as weights.
#[derive(Debug, Clone)]
pub struct UnreadColumns {
    /// The columns as a message describes them, such as `numbers in the column "length"`.
    pub found: String,
    /// Suggested fix: the options that read one of these columns as the weight.
    pub remedy: String,
}

impl UnreadColumns {
    /// Describes the columns with these names. `remedy` contains the options that read one of these columns as the
    /// weight.
    pub(crate) fn of(names: &[String], remedy: String) -> UnreadColumns {
        let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
        let columns = if names.len() == 1 { "column" } else { "columns" };
        let named = names[..names.len().min(NAMED)].join(", ");
        UnreadColumns { found: format!("numbers in the {columns} {named}{more}"), remedy }
    }
}

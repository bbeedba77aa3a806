//! The weights that a user asks for, and the choice of their type after a scan.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{WeightType, Weights};
use crate::error::{Error, Result};

/// Maximum number of columns that a message names.
const NAMED: usize = 6;

/// The weights that a user asks for: `[input] weights`, `convert --weights`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedWeights {
    /// Weights are read in the type that they have in the input. If the input has none, none are read.
    #[default]
    Auto,
    /// Weights are not read.
    None,
    /// The input must have integer weights below 2^32.
    U32,
    /// The input must have weights, which are converted to f32.
    F32,
}

impl AskedWeights {
    /// All values with their names in job files and on the command line; the first is the default.
    pub const NAMED: [(&'static str, AskedWeights); 4] = [
        ("auto", AskedWeights::Auto),
        ("none", AskedWeights::None),
        ("u32", AskedWeights::U32),
        ("f32", AskedWeights::F32),
    ];

    /// Returns the name in job files and on the command line.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, asked)| *asked == self).map_or("", |(name, _)| name)
    }

    /// Returns how the first scan of the input treats weights.
    pub fn first(self) -> Weights {
        match self {
            AskedWeights::Auto => Weights::Find,
            AskedWeights::None => Weights::Skip,
            AskedWeights::U32 => Weights::Read(WeightType::U32),
            AskedWeights::F32 => Weights::Read(WeightType::F32),
        }
    }

    /// Returns the type in which weights are read after the first scan, which found weights of the type `found`; `None`
    /// if the input has none, or if the user wants none.
    ///
    /// # Errors
    /// [`Error::Usage`] if the user asks for weights of a type and the input has edges without weights.
    pub fn decide(
        self,
        found: Option<WeightType>,
        edges: u64,
        missing: impl FnOnce() -> Error,
    ) -> Result<Option<WeightType>> {
        match (self, found) {
            (AskedWeights::None, _) => Ok(None),
            (AskedWeights::Auto, found) => Ok(found),
            (AskedWeights::U32 | AskedWeights::F32, None) if edges > 0 => Err(missing()),
            (AskedWeights::U32, _) => Ok(Some(WeightType::U32)),
            (AskedWeights::F32, _) => Ok(Some(WeightType::F32)),
        }
    }
}

impl FromStr for AskedWeights {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = AskedWeights::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, asked)| asked);
        named.ok_or_else(|| format!("unknown weights {name:?}: one of auto, none, u32, f32"))
    }
}

impl fmt::Display for AskedWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the error for an input without weights, if the user asks for them. `unread` are columns that may be the
/// weights.
pub fn missing(name: &str, unread: Option<&Unread>) -> Error {
    let (but, remedy) = match unread {
        Some(Unread { found, remedy }) => (format!(", but {found}"), remedy.as_str()),
        None => (String::new(), "name a file that has them"),
    };
    Error::Usage(format!(
        "{name}: expected weights, as asked for, found none{but}; {remedy}; or ask for none: [input] weights = \"none\", \
         convert --weights none"
    ))
}

/// Numeric columns of a file that are read neither as ids nor as weights.
#[derive(Debug, Clone)]
pub struct Unread {
    /// The columns as a message names them, such as `numbers in the column "length"`.
    pub found: String,
    /// The options that read one of these columns as the weight.
    pub remedy: String,
}

impl Unread {
    /// Describes the columns with these names. `remedy` names the options that read one of these columns as the weight.
    pub(crate) fn of(names: &[String], remedy: String) -> Unread {
        let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
        let columns = if names.len() == 1 { "column" } else { "columns" };
        let named = names[..names.len().min(NAMED)].join(", ");
        Unread { found: format!("numbers in the {columns} {named}{more}"), remedy }
    }
}

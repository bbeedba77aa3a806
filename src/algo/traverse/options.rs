//! The options of `[traverse]`.

use super::owner::Rule;
use crate::algo::searches::Options;
use crate::jobfile::{Diagnostics, Section};
use serde::{Deserialize, Serialize};

/// Traversal level by level: where to search from, how, and what to do with the trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traverse {
    /// Where to search from, and what to do with what was found.
    #[serde(flatten)]
    pub options: Options,
    /// The way from a level to the next. Trees are the same by all.
    pub strategy: Strategy,
    /// The rule by which ranks own vertices.
    pub owner: Rule,
}

/// A way from a level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Candidates are sorted, and repeats dropped, before they are sent: the published way.
    SortUnique,
    /// Candidates are claimed by atomic operations, and all are sent.
    Atomic,
    /// The engines of `[bfs]`, which are the fastest.
    Auto,
}

impl Strategy {
    const ALL: [Strategy; 3] = [Strategy::SortUnique, Strategy::Atomic, Strategy::Auto];

    /// Returns its name in job files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::SortUnique => "sort-unique",
            Strategy::Atomic => "atomic",
            Strategy::Auto => "auto",
        }
    }
}

impl Traverse {
    /// Reads the table.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Traverse> {
        let options = Options::parse(table, diagnostics);
        let strategies = Strategy::ALL.map(|strategy| (strategy.name(), strategy));
        let strategy =
            table.get("strategy").map_or(Some(Strategy::SortUnique), |field| field.choice(&strategies, diagnostics));
        let owner = table.get("owner").map_or(Some(Rule::Modulo), |field| field.choice(&Rule::ALL, diagnostics));
        Some(Traverse { options: options?, strategy: strategy?, owner: owner? })
    }
}

//! The options of connected components, from the job-file table `[components]`.

use crate::graph::direction::Direction;
use crate::jobfile::{AnyKey, Key};
use serde::{Deserialize, Serialize};

/// The key `strong` of the table `[components]`.
pub(super) const STRONG: Key<bool> =
    Key::flag("strong", "finds strongly connected components in place of weakly connected ones");

/// All keys of the table `[components]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&STRONG];

/// Options of the table `[components]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Components {
    /// Whether to find strongly connected components. In an undirected graph, they are the weakly connected
    /// components.
    // The default is not serialised, so results of versions without this option keep their keys.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strong: bool,
}

impl Components {
    /// Returns true if strongly connected components must be computed. In an undirected graph, they are the weakly
    /// connected components.
    pub(super) fn is_strong(&self, direction: Direction) -> bool {
        self.strong && direction == Direction::Directed
    }
}

//! The options of `[components]`.

use crate::graph::direction::Direction;
use crate::jobfile::{AnyKey, Key};
use serde::{Deserialize, Serialize};

/// The key `strong` of the table `[components]`.
pub(super) const STRONG: Key<bool> =
    Key::flag("strong", "finds strongly connected components, on CPUs, in place of weakly connected ones");

/// All keys of the table `[components]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&STRONG];

/// Options of the components.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Components {
    /// Whether to find strongly connected components. If edges have no direction, they are the weakly connected
    /// components.
    // Results of weakly connected components have the keys of versions that did not have this option.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strong: bool,
}

impl Components {
    /// Returns whether components follow the direction of edges. Without direction, the strongly connected components
    /// are the weakly connected ones.
    pub(super) fn is_strong(&self, direction: Direction) -> bool {
        self.strong && direction == Direction::Directed
    }
}

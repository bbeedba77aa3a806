//! The options of `[dfs]`.

use crate::graph::ids::InputId;
use crate::jobfile::{AnyKey, Diagnostics, Key, Section};
use serde::{Deserialize, Serialize};

/// Which of all depth-first trees is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The tree that goes on to the first neighbour.
    Lexicographic,
    /// Any tree. The lexicographic one is made.
    Any,
}

const ORDERS: [(&str, Order); 2] = [("lexicographic", Order::Lexicographic), ("any", Order::Any)];

/// Which components are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Components {
    /// The strongly connected components.
    Strong,
}

/// Depth-first search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dfs {
    /// The source by the input's id; `None` for a forest.
    pub source: Option<InputId>,
    /// The tree that is asked for.
    pub order: Order,
    /// Find articulation points and bridges.
    pub articulation: bool,
    /// Take an edge that the input repeats for no bridge.
    pub multigraph: bool,
    /// Find components.
    pub components: Option<Components>,
    /// Check the tree.
    pub validate: bool,
}

/// `source`.
const SOURCE: Key<Option<InputId>> = Key::new(
    "source",
    ("an id", "none"),
    "the vertex to begin at; a table has it or `forest`",
    || None,
    |field, diagnostics| field.integer(0..=u64::MAX, diagnostics).map(|id| Some(InputId(id))),
);

/// `forest`.
const FOREST: Key<bool> = Key::flag("forest", "searches all vertices, in place of `source`");

/// `order`.
const ORDER: Key<Order> = Key::choice("order", &ORDERS, "the tree that is asked for; the lexicographic one is made");

/// `articulation`.
const ARTICULATION: Key<bool> = Key::flag("articulation", "finds articulation points and bridges");

/// `multigraph`.
const MULTIGRAPH: Key<bool> =
    Key::flag("multigraph", "an edge that the input repeats is no bridge; with `articulation`");

/// `components`.
const COMPONENTS: Key<Option<Components>> = Key::new(
    "components",
    ("strong", "none"),
    "finds strongly connected components of a directed graph, a cycle or a topological order",
    || None,
    |field, diagnostics| field.choice(&[("strong", Some(Components::Strong))], diagnostics),
);

/// `validate`.
const VALIDATE: Key<bool> = Key::flag_on("validate", "checks the tree by another method; exit 8 if it is wrong");

/// All keys.
pub(super) const KEYS: &[&dyn AnyKey] = &[&SOURCE, &FOREST, &ORDER, &ARTICULATION, &MULTIGRAPH, &COMPONENTS, &VALIDATE];

impl Dfs {
    /// Reads the table.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Dfs> {
        let forest = FOREST.read(table, diagnostics);
        let order = ORDER.read(table, diagnostics);
        let articulation = ARTICULATION.read(table, diagnostics);
        let multigraph = MULTIGRAPH.read(table, diagnostics);
        if let (Some(field), Some(true), Some(false)) = (MULTIGRAPH.field(table), multigraph, articulation) {
            field.error("true is for bridges: add articulation = true", diagnostics);
        }
        let components = COMPONENTS.read(table, diagnostics);
        let validate = VALIDATE.read(table, diagnostics);
        let source = match (SOURCE.field(table), forest?) {
            (Some(field), true) => {
                field.error("a table has source or forest, not both", diagnostics);
                return None;
            }
            (None, false) => {
                let message = "[dfs] names no vertex to begin at: add source = ID, or forest = true for all trees";
                diagnostics.missing(message);
                return None;
            }
            _ => SOURCE.read(table, diagnostics)?,
        };
        let (articulation, multigraph, components) = (articulation?, multigraph?, components?);
        Some(Dfs { source, order: order?, articulation, multigraph, components, validate: validate? })
    }
}

//! The options in the job table `[dfs]`.

use crate::graph::ids::InputId;
use crate::jobfile::{AnyKey, Diagnostics, Key, Section};
use serde::{Deserialize, Serialize};

/// The kind of depth-first tree that is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeOrder {
    /// The lexicographic tree: the search always continues with the first unvisited neighbour in the order of vertices.
    Lexicographic,
    /// Any depth-first tree. gpugraph computes the lexicographic one.
    Any,
}

const ORDERS: [(&str, TreeOrder); 2] = [("lexicographic", TreeOrder::Lexicographic), ("any", TreeOrder::Any)];

/// The kind of connected components that are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComponentKind {
    /// The strongly connected components.
    Strong,
}

/// Options of depth-first search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dfs {
    /// The source: a vertex id of the input, or `None` to search a forest of all vertices.
    pub source: Option<InputId>,
    /// The kind of depth-first tree that is requested.
    pub order: TreeOrder,
    /// Whether to find articulation points and bridges.
    pub articulation: bool,
    /// Whether repeated edges count as several edges. If so, an edge that the input repeats is not a bridge.
    pub multigraph: bool,
    /// The kind of connected components to find; `None` to find none.
    pub components: Option<ComponentKind>,
    /// Whether the tree is checked after the search.
    pub validate: bool,
}

/// The key `source` of the table `[dfs]`.
const SOURCE: Key<Option<InputId>> = Key::new(
    "source",
    ("an id, such as 17 or \"name\"", "none"),
    "vertex to start from; a table has either `source` or `forest`",
    || None,
    |field, diagnostics| field.id(diagnostics).map(Some),
);

/// The key `forest` of the table `[dfs]`.
const FOREST: Key<bool> = Key::flag("forest", "searches all vertices, in place of `source`");

/// The key `order` of the table `[dfs]`.
const ORDER: Key<TreeOrder> =
    Key::choice("order", &ORDERS, "the tree that is required; `any` also makes the lexicographic one");

/// The key `articulation` of the table `[dfs]`.
const ARTICULATION: Key<bool> = Key::flag("articulation", "finds articulation points and bridges");

/// The key `multigraph` of the table `[dfs]`.
const MULTIGRAPH: Key<bool> =
    Key::flag("multigraph", "an edge that the input repeats is no bridge; requires `articulation`");

/// The key `components` of the table `[dfs]`.
const COMPONENTS: Key<Option<ComponentKind>> = Key::new(
    "components",
    ("strong", "none"),
    "finds strongly connected components of a directed graph, a cycle or a topological order",
    || None,
    |field, diagnostics| field.choice(&[("strong", Some(ComponentKind::Strong))], diagnostics),
);

/// The key `validate` of the table `[dfs]`.
const VALIDATE: Key<bool> = Key::flag_on("validate", "checks the tree by another method; exit 8 if it is wrong");

/// All keys of the table `[dfs]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&SOURCE, &FOREST, &ORDER, &ARTICULATION, &MULTIGRAPH, &COMPONENTS, &VALIDATE];

impl Dfs {
    /// Parses the table `[dfs]`, and reports errors to `diagnostics`.
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

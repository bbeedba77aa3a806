//! The options of `[dfs]`.

use crate::graph::ids::InputId;
use crate::jobfile::{Diagnostics, Section};
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

impl Dfs {
    /// Reads the table.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Dfs> {
        let source = table.get("source");
        let forest_field = table.get("forest");
        let forest = forest_field.as_ref().map_or(Some(false), |field| field.boolean(diagnostics));
        let order = table.get("order").map_or(Some(Order::Lexicographic), |field| field.choice(&ORDERS, diagnostics));
        let articulation = table.get("articulation").map_or(Some(false), |field| field.boolean(diagnostics));
        let multigraph_field = table.get("multigraph");
        let multigraph = multigraph_field.as_ref().map_or(Some(false), |field| field.boolean(diagnostics));
        if let (Some(field), Some(true), Some(false)) = (&multigraph_field, multigraph, articulation) {
            field.error("true is for bridges: add articulation = true", diagnostics);
        }
        let kinds = [("strong", Some(Components::Strong))];
        let components = table.get("components").map_or(Some(None), |field| field.choice(&kinds, diagnostics));
        let validate = table.get("validate").map_or(Some(true), |field| field.boolean(diagnostics));
        let source = match (source, forest?) {
            (Some(source), false) => Some(InputId(source.integer(0..=u64::MAX, diagnostics)?)),
            (None, true) => None,
            (Some(source), true) => {
                source.error("a table has source or forest, not both", diagnostics);
                return None;
            }
            (None, false) => {
                let message = "[dfs] names no vertex to begin at: add source = ID, or forest = true for all trees";
                diagnostics.missing(message);
                return None;
            }
        };
        let (articulation, multigraph, components) = (articulation?, multigraph?, components?);
        Some(Dfs { source, order: order?, articulation, multigraph, components, validate: validate? })
    }
}

//! The table `[dfs]`: what a job may ask for, and what it is told.

use super::{cost, driver, saved, verify};
use crate::algo::searches::sentences::counted;
use crate::algo::sources::Named;
use crate::algo::{
    Algorithm, Answer, Cost, Crew, GraphSize, GraphTask, Needs, On, Outcome, Results, Run, StoredUnits, Task,
    UnitsContent, Verdict, recall,
};
use crate::chart::Figure;
use crate::error::{Error, Result};
use crate::gpu::ProgramSource;
use crate::graph::bins::Bin;
use crate::graph::direction::Direction;
use crate::graph::ids::InputId;
use crate::jobfile::{Diagnostics, Section};
use crate::prepare::prepared::Graph;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Depth-first search, as the registry has it.
pub struct Dfs;

impl Algorithm for Dfs {
    fn name(&self) -> &'static str {
        "dfs"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["source", "forest", "order", "articulation", "multigraph", "components", "validate"]
    }

    fn alternatives(&self) -> &'static [&'static str] {
        &["source", "forest"]
    }

    fn parse(&self, table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Arc<dyn Task>> {
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
        Some(Arc::new(Table { source, order: order?, articulation, multigraph, components, validate: validate? }))
    }

    fn figures(&self, result: &Value) -> Vec<Figure> {
        let bins: Vec<Bin> = serde_json::from_value(result["depths"].clone()).unwrap_or_default();
        // By logarithm there is no place for 0.
        let of = |bin: &Bin| (f64::from(bin.from) + 1.0, f64::from(bin.to) + 1.0, bin.vertices as f64);
        let bins: Vec<_> = bins.iter().map(of).collect();
        let caption = "Vertices by the number of vertices on the way from their root, both by logarithm.";
        vec![Figure::distribution("Depth", caption, "vertices", "vertices on the way, both ends included", &bins)]
    }

    fn sentences(&self, result: &Value) -> Vec<String> {
        let number = |key: &str| result[key].as_u64();
        let mut all = Vec::new();
        if let (Some(trees), Some(reached)) = (number("trees"), number("reached")) {
            let (trees, reached) = (counted(trees, "tree", "trees"), counted(reached, "vertex", "vertices"));
            let deepest = number("max_depth")
                .map_or(String::new(), |depth| format!(", the deepest by {}", counted(depth, "edge", "edges")));
            all.push(format!("The search makes {trees} and reaches {reached}{deepest}."));
        }
        if let (Some(points), Some(bridges)) = (number("articulation_points"), number("bridges")) {
            let (points, bridges) = (counted(points, "vertex", "vertices"), counted(bridges, "edge", "edges"));
            all.push(format!("The graph falls apart without any one of {points}, or of {bridges}."));
        }
        if let (Some(components), Some(largest)) = (number("components"), number("largest_component")) {
            let components = counted(components, "strongly connected component", "strongly connected components");
            all.push(format!("There are {components}; the largest has {}.", counted(largest, "vertex", "vertices")));
        }
        match result["cycle"].as_array() {
            Some(cycle) if cycle.is_empty() => all.push("The graph has no cycle.".to_owned()),
            Some(_) => all.push("The graph has a cycle.".to_owned()),
            None => {}
        }
        all
    }

    fn recall(&self, table: &Value) -> Option<Arc<dyn Task>> {
        recall::<Table>(table)
    }
}

/// Which of all depth-first trees is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The one that goes on to the first neighbour.
    Lexicographic,
    /// Any: that one is made.
    Any,
}

const ORDERS: [(&str, Order); 2] = [("lexicographic", Order::Lexicographic), ("any", Order::Any)];

/// Which components are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Components {
    /// Those within which every vertex leads to every other.
    Strong,
}

/// `[dfs]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
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

impl Table {
    /// Checks that a result is what the table asks for.
    ///
    /// # Errors
    /// [`Error::Validation`] if it is not.
    fn asks_for(&self, found: &Found) -> Result<()> {
        let multigraph = found.articulation.as_ref().map(|found| found.multigraph);
        let told = (found.source, found.validated, multigraph, found.strong.is_some());
        match told
            == (self.source, self.validate, self.articulation.then_some(self.multigraph), self.components.is_some())
        {
            true => Ok(()),
            false => Err(Error::Validation(format!("not a result of the table {self:?}: {found:?}"))),
        }
    }
}

/// The result: the fields of `results.dfs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The source; `None` for a forest.
    pub source: Option<InputId>,
    /// Trees: of a forest, of vertices that have an edge.
    pub trees: u64,
    /// Vertices reached, roots included.
    pub reached: u64,
    /// The depth of the deepest vertex.
    pub max_depth: u64,
    /// True if the tree was checked.
    pub validated: bool,
    /// Articulation points and bridges, if they are asked for.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub articulation: Option<ArticulationFound>,
    /// Strong components, if they are asked for.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub strong: Option<StrongFound>,
}

/// Articulation points and bridges of what was reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArticulationFound {
    /// Number of articulation points.
    pub articulation_points: u64,
    /// Number of bridges.
    pub bridges: u64,
    /// True if an edge that the input repeats is no bridge; otherwise repeats count as one edge.
    pub multigraph: bool,
}

/// Strong components of what was reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StrongFound {
    /// Number of components.
    pub components: u64,
    /// Vertices of the largest.
    pub largest_component: u64,
    /// Vertices of a cycle: 1 of a loop, 0 if there is no cycle. Nothing where a kept graph does not tell which vertices have loops.
    pub cycle_length: Option<u64>,
    /// The vertices of the cycle, as edges lead: the first [`driver::TOLD`]. The last of all leads to the first.
    pub cycle: Vec<InputId>,
}

impl Found {
    /// Reads a result as the manifest has it.
    fn of(value: &Value) -> Result<Found> {
        serde_json::from_value(value.clone())
            .map_err(|e| Error::Validation(format!("the manifest's result is none of depth-first search: {e}")))
    }

    /// Checks the figures against each other, in a graph with so many vertices that have an edge.
    fn agrees(&self, connected: u64) -> Result<String> {
        let Found { source, trees, reached, max_depth, .. } = *self;
        let fits = trees <= reached && reached <= connected.max(1) && max_depth <= reached - trees;
        if fits && (source.is_none() || trees == 1) && (trees > 0 || connected == 0) {
            return Ok(format!("{reached} vertices in {trees} trees"));
        }
        Err(Error::Validation(format!("no result of a graph of {connected} vertices with edges: {self:?}")))
    }
}

impl Task for Table {
    fn algorithm(&self) -> &'static dyn Algorithm {
        &Dfs
    }

    fn table(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn on(&self) -> On<'_> {
        On::Graph(self)
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        &[]
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&Value>) -> Result<String> {
        match &units.content {
            UnitsContent::Checkpoint(saved) => saved::told(saved),
            UnitsContent::Records(_) => Err(Error::Validation(format!("{}: a journal", units.path.display()))),
        }
    }

    fn answer(&self, found: &Value, _: &Value) -> Answer {
        let validated = if found["validated"] == true { "validated" } else { "not validated" };
        let tree = match found["trees"].as_u64() {
            Some(1) | None => "1 tree".to_owned(),
            Some(trees) => format!("{trees} trees"),
        };
        let number =
            |key: &str, name: &str| found[key].as_u64().map_or_else(String::new, |number| format!("{name} {number}  "));
        let bridges = match (found["bridges"].as_u64(), found["multigraph"].as_bool()) {
            (Some(bridges), Some(true)) => format!("bridges {bridges} (repeated edges are none)  "),
            (Some(bridges), _) => format!("bridges {bridges} (repeated edges count once)  "),
            (None, _) => String::new(),
        };
        let cycle = match (found.get("cycle_length"), found["cycle_length"].as_u64()) {
            (None, _) => String::new(),
            (_, Some(0)) => "no cycle  ".to_owned(),
            (_, Some(1)) => format!("a cycle of 1 (the loop at {})  ", found["cycle"][0]),
            (_, Some(length)) => format!("a cycle of {length}  "),
            (_, None) => "no cycle but loops, which the kept graph does not name: no topological order  ".to_owned(),
        };
        let of_tree = [
            number("articulation_points", "articulation points"),
            bridges,
            number("components", "strong components"),
            cycle,
        ];
        let of_tree = of_tree.concat();
        Answer {
            main: format!("dfs {tree}"),
            more: format!(
                "reached {}  max_depth {}  {of_tree}{validated}  searched on one core",
                found["reached"], found["max_depth"]
            ),
            block: None,
        }
    }
}

impl GraphTask for Table {
    fn needs(&self) -> Needs {
        Needs { degrees: true, order: true, upper: true, direction: true, weights: false, input: self.multigraph }
    }

    fn named(&self) -> Vec<Named> {
        self.source.map(|source| ("source", source)).into_iter().collect()
    }

    fn refuses(&self, direction: Direction) -> Option<&'static str> {
        match direction {
            Direction::Directed if self.articulation => {
                Some("[dfs] articulation is of edges without direction; leave out [input] directed, or articulation")
            }
            Direction::Undirected if self.components.is_some() => Some(
                "[dfs] components = \"strong\" is of edges with direction; add directed = true to [input], or leave it out",
            ),
            _ => None,
        }
    }

    fn units(&self, _: u64) -> u64 {
        saved::UNITS
    }

    fn least_gpu_memory(&self, _: u64, _: &GraphSize<'_>, _: usize) -> Option<u64> {
        None
    }

    fn cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> Cost {
        cost::of(self, graph, crew)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<Outcome> {
        driver::search(self, graph, run)
    }

    fn verify(&self, results: &Results<'_>, found: &Value, verdict: &mut Verdict<'_>) -> Result<()> {
        let found = match Found::of(found) {
            Ok(found) => found,
            Err(e) => return verdict.note("search", Err(e)),
        };
        verdict.note("search", self.asks_for(&found).and_then(|()| found.agrees(results.info.connected)))?;
        match &results.edges {
            _ if !results.done => verdict.skip("tree", "no column is written yet: the job is not done"),
            Err(why) => verdict.skip("tree", format!("{why}; so it was not checked")),
            Ok(edges) => verdict.note("tree", verify::verify(self, &found, edges, results)),
        }
    }
}

//! Implements [`Algorithm`] for the job table `[dfs]`.

use super::output::{DfsDetails, DfsOutput};
use super::{Dfs, cost, driver, options, saved, verify};
use crate::algo::searches::sentences::counted;
use crate::algo::sources::NamedVertex;
use crate::algo::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, TrialOf, TrialRef, Verdict,
};
use crate::chart::Figure;
use crate::error::Result;
use crate::graph::bins::Bin;
use crate::graph::direction::Direction;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;

impl Algorithm for Dfs {
    const NAME: &'static str = "dfs";
    const ABOUT: &'static str = "searches depth-first";
    const KEYS: &'static [&'static dyn AnyKey] = options::KEYS;
    const COLUMNS: &'static [About] = super::output::COLUMNS;
    const ALTERNATIVES: &'static [&'static str] = &["source", "forest"];

    type Input = Graph;
    type Output = DfsOutput;
    type Details = DfsDetails;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Dfs> {
        Dfs::read(table, diagnostics)
    }

    fn needs(&self) -> Needs {
        Needs { degrees: true, order: true, upper: true, direction: true, weights: false, input: self.multigraph }
    }

    fn named_vertices(&self) -> Vec<NamedVertex> {
        self.source.map(|source| ("source", source)).into_iter().collect()
    }

    fn refuses(&self, direction: Direction) -> Option<&'static str> {
        match direction {
            Direction::Directed if self.articulation => {
                Some("[dfs] articulation needs undirected edges; remove directed from [input], or remove articulation")
            }
            Direction::Undirected if self.components.is_some() => Some(
                "[dfs] components = \"strong\" needs directed edges; add directed = true to [input], or remove components",
            ),
            _ => None,
        }
    }

    fn units(&self, _: u64) -> u64 {
        saved::UNITS
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        cost::of(self, graph, resources)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Dfs>> {
        driver::search(self, graph, run)
    }

    fn verify(
        &self,
        results: &Results<'_>,
        (output, details): TrialRef<'_, Self>,
        verdict: &mut Verdict<'_>,
    ) -> Result<()> {
        verdict.note("search", output.is_of(self).and_then(|()| output.check(results.info.connected)))?;
        match &results.edges {
            _ if !results.done => verdict.skip("tree", "no column is written yet: the job is not done"),
            Err(why) => verdict.skip("tree", format!("{why}; so it was not checked")),
            Ok(edges) => verdict.note("tree", verify::verify(self, (output, details), edges, results)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&DfsOutput>) -> Result<String> {
        saved::describe(units.checkpoint()?)
    }

    fn answer(&self, output: &DfsOutput, _: Option<&DfsDetails>) -> Answer {
        let DfsOutput { trees, reached, max_depth, validated, .. } = *output;
        let tree = if trees == 1 { "1 tree".to_owned() } else { format!("{trees} trees") };
        let mut of_tree = String::new();
        if let Some(found) = &output.articulation {
            let repeats = if found.multigraph { "are none" } else { "count once" };
            let (points, bridges) = (found.articulation_points, found.bridges);
            of_tree += &format!("articulation points {points}  bridges {bridges} (repeated edges {repeats})  ");
        }
        if let Some(found) = &output.strong {
            let cycle = match (found.cycle_length, found.cycle.first()) {
                (Some(0), _) => "no cycle".to_owned(),
                (Some(1), Some(vertex)) => format!("a cycle of 1 (the loop at {vertex})"),
                (Some(length), _) => format!("a cycle of {length}"),
                (None, _) => "no cycle but loops, which the kept graph does not name: no topological order".to_owned(),
            };
            of_tree += &format!("strong components {}  {cycle}  ", found.components);
        }
        let validated = if validated { "validated" } else { "not validated" };
        Answer {
            main: format!("dfs {tree}"),
            more: format!("reached {reached}  max_depth {max_depth}  {of_tree}{validated}  searched on one core"),
            block: None,
        }
    }

    fn sentences(output: &DfsOutput) -> Vec<String> {
        let trees = counted(output.trees, "tree", "trees");
        let reached = counted(output.reached, "vertex", "vertices");
        let deepest = counted(output.max_depth, "edge", "edges");
        let mut all = vec![format!("The search makes {trees} and reaches {reached}, the deepest by {deepest}.")];
        if let Some(found) = &output.articulation {
            let points = counted(found.articulation_points, "vertex", "vertices");
            let bridges = counted(found.bridges, "edge", "edges");
            all.push(format!("Removing any one of {points}, or of {bridges}, disconnects a component."));
        }
        if let Some(found) = &output.strong {
            let (one, many) = ("strongly connected component", "strongly connected components");
            let components = counted(found.components, one, many);
            let largest = counted(found.largest_component, "vertex", "vertices");
            all.push(format!("There are {components}; the largest has {largest}."));
            // For a prepared graph, it may be unknown whether a reached vertex has a self-loop.
            if let Some(length) = found.cycle_length {
                all.push(format!("The graph has {} cycle.", if length == 0 { "no" } else { "a" }));
            }
        }
        all
    }

    fn figures(_: &DfsOutput, details: &DfsDetails) -> Vec<Figure> {
        // A logarithmic axis can't show 0, so depths are shifted by one.
        let of = |bin: &Bin| (f64::from(bin.from) + 1.0, f64::from(bin.to) + 1.0, bin.vertices as f64);
        let bins: Vec<_> = details.depths.iter().flatten().map(of).collect();
        let caption = "Vertices by the number of vertices on the way from their root, both by logarithm.";
        vec![Figure::distribution("Depth", caption, "vertices", "vertices on the way, both ends included", &bins)]
    }
}

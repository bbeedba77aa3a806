//! Implements the algorithm of the table `[triangle]`.

use crate::algo::triangle::gpu::{self, Counted, Gpu};
use crate::algo::triangle::output::{Comparisons, EdgeSupport, TriangleDetails, TriangleOutput};
use crate::algo::triangle::per_vertex::SavedCounts;
use crate::algo::triangle::{
    Triangle, comparisons, cost, driver, figures, options, per_edge, per_vertex, recount, units,
};
use crate::algo::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, Trial, TrialOf, TrialRef,
    UnitsContent, Verdict,
};
use crate::chart::Figure;
use crate::chart::unit::group;
use crate::comm::on_leader;
use crate::error::{At, Error, Result};
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::graph::layout::Layout;
use crate::graph::placement::BlockSize;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;
use crate::store::journal::Record;

impl Algorithm for Triangle {
    const NAME: &'static str = "triangle";
    const ABOUT: &'static str = "counts triangles";
    const KEYS: &'static [&'static dyn AnyKey] = options::KEYS;
    const COLUMNS: &'static [About] = super::output::COLUMNS;

    type Input = Graph;
    type Output = TriangleOutput;
    type Details = TriangleDetails;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Triangle> {
        Triangle::read(table, diagnostics)
    }

    fn needs(&self) -> Needs {
        // Clustering coefficients use degrees.
        let degrees = self.has_columns() || self.comparisons;
        let order = degrees || self.per_edge;
        Needs { degrees, order, upper: self.comparisons, direction: self.counts_links(), ..Needs::default() }
    }

    fn refuses(&self, direction: Direction) -> Option<&'static str> {
        (self.comparisons && direction == Direction::Directed).then_some(comparisons::NEEDS_UNDIRECTED)
    }

    fn programs(&self, ranks: usize) -> Vec<&'static ProgramSource> {
        match self.counted(self.clustering) {
            // If there are several ranks, they count links on CPUs.
            Counted::Links if ranks > 1 => Vec::new(),
            counted => gpu::programs(counted),
        }
    }

    fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        // A job may request links of an undirected graph. They are computed from its triangles.
        if self.counts_links() { gpu::programs(Counted::Vertices) } else { Vec::new() }
    }

    fn units(&self, blocks: u64) -> u64 {
        units::total(blocks as usize)
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> Option<u64> {
        let (counted, row) = (self.counted(graph.direction), graph.gpu_row.unwrap_or(0));
        let least = || Gpu::least_bytes(counted, graph.vertices, row, per_edge::largest_block(graph));
        // If there are several ranks, they count links on CPUs, because with GPUs each rank would have to merge all
        // rows.
        (counted != Counted::Links || ranks == 1).then(least)
    }

    fn extra_host_bytes(&self, layout: &Layout, sizes: &[BlockSize], bytes: u64) -> Option<u64> {
        let counts = if self.has_columns() { 8 * layout.rows() } else { 0 };
        // The host itself reads whole rows to count comparisons, to write edges with their counts, and to merge rows
        // for links.
        let counted = self.counted(layout.direction());
        let takes = !self.comparisons && !matches!(counted, Counted::Edges | Counted::Links);
        (takes && Gpu::counts(layout, sizes, bytes, counted)).then_some(counts)
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        cost::of(self, graph, resources)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Triangle>> {
        // Comparisons are counted before triangles, because counting per edge removes the units' files when it ends.
        let merged = self.comparisons.then(|| comparisons::count(graph, run)).transpose()?;
        let mut support = None;
        let (sum, seconds, pairs, totals) = match (self.per_edge, self.has_columns()) {
            (true, _) => {
                let counted = per_edge::count(self, graph, run)?;
                support = Some(counted.support);
                (counted.sum, counted.seconds, Some(counted.pairs), counted.vertices)
            }
            (false, true) => {
                let (sum, seconds, totals) = per_vertex::count(self, graph, run)?;
                (sum, seconds, None, Some(totals))
            }
            (false, false) => {
                let (sum, seconds, pairs) = driver::count(graph, run, None)?;
                (sum, seconds, Some(pairs), None)
            }
        };
        let wedges = totals.as_ref().map_or(graph.stored.summary.wedges, |totals| totals.wedges);
        let of_vertices = totals.map(|totals| TriangleDetails::of_clustering(totals.clustering));
        let details = TriangleDetails { pairs, ..of_vertices.unwrap_or_default() };
        let links = match graph.info.direction {
            Direction::Directed => sum.links,
            Direction::Undirected => 6 * sum.triangles,
        };
        let output = TriangleOutput {
            triangles: sum.triangles,
            units: units::total(graph.block_store.len()),
            probes: sum.probes,
            wedges,
            transitivity: if wedges == 0 { 0.0 } else { 3.0 * sum.triangles as f64 / wedges as f64 },
            links: self.counts_links().then_some(links),
            support,
            comparisons: merged.map(|merged| merged.comparisons(sum.triangles)),
        };
        if let Some(merged) = merged {
            on_leader(run.comm, || run.units.remove_files())?;
            return Ok(Trial { output, details, seconds: seconds + merged.seconds });
        }
        Ok(Trial { output, details, seconds })
    }

    fn verify(
        &self,
        results: &Results<'_>,
        (output, details): TrialRef<'_, Self>,
        verdict: &mut Verdict<'_>,
    ) -> Result<()> {
        recount::verify(self, results, (output, details), verdict)
    }

    fn verify_units(&self, units: &StoredUnits<'_>, output: Option<&TriangleOutput>) -> Result<String> {
        let (number, triangles) = match &units.content {
            UnitsContent::Records(records) => {
                let mut sum = 0;
                for record in *records {
                    let [triangles, _, _] = record.words().ok_or_else(|| {
                        let what = format!("the result of unit {} is not a count of triangles", record.unit);
                        Error::corrupt(units.path, At::File, what)
                    })?;
                    sum += u128::from(triangles);
                }
                (records.len() as u64, sum)
            }
            UnitsContent::Checkpoint(saved) => {
                let counted = SavedCounts::read(saved, units.vertices)?;
                let (found, expected) = (counted.of_vertices(), counted.sum.of_vertices(counted.direction));
                if found != expected {
                    let what = format!("the counts of all vertices add up to {found}, not {expected}");
                    return Err(Error::corrupt(units.path, At::File, what));
                }
                (counted.units.len() as u64, counted.sum.triangles)
            }
        };
        match output {
            Some(output) if units.total == number && triangles != output.triangles => Err(Error::Validation(format!(
                "{}: all units have {triangles} triangles, the manifest {}",
                units.path.display(),
                output.triangles
            ))),
            _ => Ok(format!("{number} units with {triangles} triangles")),
        }
    }

    fn answer(&self, output: &TriangleOutput, _: Option<&TriangleDetails>) -> Answer {
        let more = format!("transitivity {:.6}  counted", output.transitivity);
        let links = output.links.map_or_else(String::new, |links| format!("links {links}  "));
        let support =
            output.support.as_ref().map_or_else(String::new, |edges| format!("largest support {}  ", edges.largest));
        let comparisons =
            output.comparisons.map_or_else(String::new, |Comparisons { input_order, degree_order, .. }| {
                format!("comparisons {input_order} by id, {degree_order} by degree  ")
            });
        let more = links + &support + &comparisons + &more;
        Answer { main: format!("triangles {}", output.triangles), more, block: None }
    }

    fn sentences(output: &TriangleOutput) -> Vec<String> {
        let triangles = group(&output.triangles.to_string());
        let closed = 100.0 * output.transitivity;
        let mut sentences = vec![
            format!("The graph has {triangles} triangles."),
            format!("Of all paths of two edges {closed:.2} % are closed by a third."),
        ];
        if let Some(EdgeSupport { edges, in_triangles, largest, .. }) = &output.support {
            let [edges, in_triangles] = [edges, in_triangles].map(|number| group(&number.to_string()));
            let most = group(&largest.to_string());
            sentences
                .push(format!("Of {edges} edges, {in_triangles} are in a triangle, and none is in more than {most}."));
        }
        if let Some(Comparisons { input_order, degree_order, ratio }) = output.comparisons {
            let [by_id, by_degree] = [input_order, degree_order].map(|number| group(&number.to_string()));
            sentences.push(format!(
                "A plain merge of sorted rows takes {by_id} comparisons in the order of ids, and {by_degree} in the order of degree: {ratio:.2} \
                 times as many by id."
            ));
        }
        sentences
    }

    fn figures(output: &TriangleOutput, details: &TriangleDetails) -> Vec<Figure> {
        figures::of_details(details).into_iter().chain(output.support.as_ref().map(figures::of_edges)).collect()
    }

    fn figures_so_far(&self, units: &[Record], total: u64) -> Vec<Figure> {
        figures::so_far(units, total)
    }
}

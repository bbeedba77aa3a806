//! Implements the algorithm of the table `[triangle]`.

use crate::algo::triangle::gpu::{Gpu, PROGRAMS};
use crate::algo::triangle::output::{TriangleDetails, TriangleOutput};
use crate::algo::triangle::per_vertex::SavedCounts;
use crate::algo::triangle::{Triangle, cost, driver, figures, options, per_vertex, recount, units};
use crate::algo::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, Trial, TrialOf, UnitsContent,
    Verdict,
};
use crate::chart::Figure;
use crate::chart::unit::group;
use crate::error::{At, Error, Result};
use crate::gpu::ProgramSource;
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
        Some(Triangle { per_vertex: options::PER_VERTEX.read(table, diagnostics)? })
    }

    fn needs(&self) -> Needs {
        // Clustering coefficients use degrees.
        Needs { degrees: self.per_vertex, order: self.per_vertex, ..Needs::default() }
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        &PROGRAMS
    }

    fn units(&self, blocks: u64) -> u64 {
        units::total(blocks as usize)
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, _: usize) -> Option<u64> {
        Some(Gpu::least_bytes(graph.gpu_row.unwrap_or(0), graph.vertices, self.per_vertex))
    }

    fn extra_host_bytes(&self, layout: &Layout, sizes: &[BlockSize], bytes: u64) -> Option<u64> {
        let counts = if self.per_vertex { 8 * layout.rows() } else { 0 };
        Gpu::counts(layout, sizes, bytes, self.per_vertex).then_some(counts)
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        cost::of(self, graph, resources)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Triangle>> {
        let (sum, seconds, details) = match self.per_vertex {
            false => {
                let (sum, seconds, pairs) = driver::count(graph, run)?;
                (sum, seconds, TriangleDetails { pairs: Some(pairs), ..TriangleDetails::default() })
            }
            true => {
                let (sum, seconds, clustering) = per_vertex::count(graph, run)?;
                (sum, seconds, TriangleDetails::of_clustering(clustering))
            }
        };
        let wedges = graph.stored.summary.wedges;
        let output = TriangleOutput {
            triangles: sum.triangles,
            units: units::total(graph.block_store.len()),
            probes: sum.probes,
            wedges,
            transitivity: if wedges == 0 { 0.0 } else { 3.0 * sum.triangles as f64 / wedges as f64 },
        };
        Ok(Trial { output, details, seconds })
    }

    fn verify(
        &self,
        results: &Results<'_>,
        (output, details): (&TriangleOutput, &TriangleDetails),
        verdict: &mut Verdict<'_>,
    ) -> Result<()> {
        recount::verify(self.per_vertex && results.done, results, (output, details), verdict)
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
                let (corners, triangles) = (counted.corners(), counted.sum.triangles);
                if corners != 3 * triangles {
                    let what = format!("{corners} corners of {triangles} triangles, not three times as many");
                    return Err(Error::corrupt(units.path, At::File, what));
                }
                (counted.units.len() as u64, triangles)
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
        Answer { main: format!("triangles {}", output.triangles), more, block: None }
    }

    fn sentences(output: &TriangleOutput) -> Vec<String> {
        let triangles = group(&output.triangles.to_string());
        let closed = 100.0 * output.transitivity;
        vec![
            format!("The graph has {triangles} triangles."),
            format!("Of all paths of two edges {closed:.2} % are closed by a third."),
        ]
    }

    fn figures(_: &TriangleOutput, details: &TriangleDetails) -> Vec<Figure> {
        figures::of_details(details)
    }

    fn figures_so_far(&self, units: &[Record], total: u64) -> Vec<Figure> {
        figures::so_far(units, total)
    }
}

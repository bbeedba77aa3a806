//! The ledger of a trial: the results of all sources so far. Rank 0 maintains it. It includes a journal of searches and
//! checks, from which a job that was killed resumes.

use super::component::ComponentEdges;
use super::graph500::{Fields, Graph500Size, SearchSample, harmonic_mean_teps};
use super::record::{self, FinishedSource, SourceState};
use super::results::{SearchDetails, SearchOutput, Speed};
use super::roots::Root;
use super::task::{ReportedTree, SearchTask};
use crate::algo::energy::Energy;
use crate::algo::{Run, Trial, TrialOf};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::ids::Vertex;
use crate::prepare::prepared::Graph;
use crate::store::journal::Journal;
use std::time::Instant;

/// Results of all sources so far, and the journal in which they are saved.
pub struct Ledger<'a, T: SearchTask> {
    table: &'a T,
    graph: &'a Graph,
    roots: &'a [Root],
    journal: Journal,
    states: Vec<SourceState<T::Stats>>,
    components: ComponentEdges<'a>,
    /// Energy of all searches, or `None` if it was not measured.
    pub energy: Option<Energy>,
}

impl<'a, T: SearchTask> Ledger<'a, T> {
    /// Opens the ledger of a trial: reads the journal of earlier runs, and keeps the result files that they wrote. If
    /// the files of a source are incomplete, its search is repeated.
    ///
    /// # Errors
    /// Disk errors.
    pub fn open(table: &'a T, graph: &'a Graph, roots: &'a [Root], run: &mut Run<'_>) -> Result<Ledger<'a, T>> {
        let writes = table.options().write && run.is_last;
        let (journal, records) = run.units.journal()?;
        let mut states: Vec<SourceState<T::Stats>> = record::read(&records, roots.len());
        for state in &mut states {
            let Some(done) = &state.done else { continue };
            if writes && (done.outputs.is_empty() || !run.columns.take_over(&done.outputs)?) {
                *state = SourceState::default();
            }
        }
        let components = ComponentEdges::new(graph)?;
        let energy = record::energy(&records);
        Ok(Ledger { table, graph, roots, journal, states, components, energy })
    }

    /// Returns the indices of the sources from which this run must search. They include sources whose search is
    /// finished but whose tree was not checked, because trees are not saved.
    pub fn todo(&self) -> Vec<usize> {
        let is_open = |state: &SourceState<T::Stats>| {
            state.done.is_none() || self.table.options().validate && state.checked.is_none()
        };
        (0..self.states.len()).filter(|&source| is_open(&self.states[source])).collect()
    }

    /// Triggers the failpoint `what` of this algorithm, at which tests make a run fail.
    fn hit(&self, what: &str, run: &Run<'_>) -> Result<()> {
        let name = format!("{}.{what}", T::NAME);
        failpoint::hit(&name).map_err(|e| Error::io("note searches", run.units.folder, e))
    }

    /// Writes the result columns of a finished search, and then records the search in the journal. If an earlier run
    /// recorded the search, the earlier statistics are kept.
    ///
    /// # Errors
    /// Disk errors; [`Error::Stopped`].
    pub fn note(
        &mut self,
        source: usize,
        mut searched: T::Stats,
        tree: &T::Tree,
        writer: Option<&T::Writer>,
        run: &mut Run<'_>,
    ) -> Result<()> {
        if self.states[source].done.is_some() {
            return Ok(());
        }
        let root = self.roots[source];
        let edges = match root.vertex {
            Some(vertex) => self.components.edges(vertex, T::parents(tree), T::reaches_all(&searched), run)?,
            None => 0,
        };
        let outputs = match writer {
            Some(writer) => self.table.keep(writer, root, (tree, &mut searched), run)?,
            None => Default::default(),
        };
        let done = FinishedSource { searched, edges, outputs };
        self.journal.append(&[record::of_search(source, &done)?])?;
        self.states[source].done = Some(done);
        self.hit("source", run)
    }

    /// Checks the trees of several sources together, and records the checks in the journal.
    ///
    /// # Errors
    /// [`Error::Validation`] for a wrong tree; disk errors.
    pub fn check(&mut self, sources: &[usize], batch: &[T::Tree], run: &Run<'_>) -> Result<()> {
        let started = Instant::now();
        let claims = sources.iter().zip(batch).filter_map(|(&source, tree)| {
            let (root, done) = (self.roots[source], self.states[source].done.as_ref()?);
            Some(ReportedTree { source: root.id, root: Vertex(root.vertex?), searched: &done.searched, tree })
        });
        self.table.check(self.graph, &claims.collect::<Vec<_>>(), run)?;
        self.note_checks(sources, started.elapsed().as_secs_f64() / sources.len() as f64, run)
    }

    /// Records in the journal that the trees of several sources are correct, and that the check of each tree took
    /// `seconds` seconds.
    ///
    /// # Errors
    /// Disk errors.
    pub fn note_checks(&mut self, sources: &[usize], seconds: f64, run: &Run<'_>) -> Result<()> {
        let records: Vec<_> = sources.iter().map(|&source| record::of_check(source, seconds)).collect();
        self.journal.append(&records)?;
        sources.iter().for_each(|&source| self.states[source].checked = Some(seconds));
        self.hit("check", run)
    }

    /// Records the energy of `rounds` repetitions of the searches from all sources in the journal, as the energy per
    /// repetition and the number of traversed edges per joule.
    ///
    /// # Errors
    /// Disk errors.
    pub fn note_energy(&mut self, energy: Energy, rounds: u64) -> Result<()> {
        let edges: u64 = self.states.iter().filter_map(|state| Some(state.done.as_ref()?.edges)).sum();
        let energy = energy.per_round(rounds, edges * rounds);
        self.journal.append(&[record::of_energy(&energy)?])?;
        self.energy = Some(energy);
        Ok(())
    }

    /// Closes the ledger, and returns the results and statistics of the finished trial.
    ///
    /// # Errors
    /// Disk errors.
    pub fn trial(mut self, run: &Run<'_>) -> Result<TrialOf<T>> {
        self.journal.sync()?;
        let vertices = self.graph.info.connected;
        let _reporting = run.budget.reserve(report_bytes(self.roots.len() as u64, vertices), "figures of searches")?;
        let (mut outputs, mut details, mut samples) = (Vec::new(), Vec::new(), Vec::new());
        let mut seconds = 0.0;
        let levels = levels_reported(self.roots.len() as u64) as usize;
        for (root, state) in self.roots.iter().zip(self.states) {
            let missing = || Error::internal("sum up searches", "one is missing");
            let FinishedSource { searched, edges, .. } = state.done.ok_or_else(missing)?;
            let own = T::seconds(&searched);
            let (output, of_source) = T::results(root.id, edges, searched, Speed::of(edges, own), levels);
            outputs.push(output);
            details.push(of_source);
            seconds += own;
            if edges > 0 {
                // The reference code prints -1 if nothing was checked.
                samples.push(SearchSample { seconds: own, edges, validate: state.checked.unwrap_or(-1.0) });
            }
        }
        let size = Graph500Size {
            construction: run.construction,
            ..Graph500Size::of(&self.graph.info, run.comm.ranks() as u64)
        };
        let fields = Fields::new(T::KERNEL, size, &samples).filter(|_| self.table.options().origins.roots > 0);
        let details = SearchDetails {
            sources: details,
            harmonic_mean_teps: harmonic_mean_teps(&samples),
            graph500: fields,
            energy: self.energy.filter(|_| run.meters.is_some()),
        };
        Ok(Trial {
            output: SearchOutput { sources: outputs, validated: self.table.options().validate },
            details,
            seconds,
        })
    }
}

/// Maximum number of levels in the report, for each search and for all searches together. Without a limit, a search of
/// a long path would report a level for every vertex.
pub const LEVELS: u64 = 1000;
/// Number of levels that the report may list for each search, even if the levels of all searches then exceed
/// [`LEVELS`].
const LEVELS_OF_EACH: u64 = 16;
/// Estimated host memory in bytes for writing one level to the manifest, the report and the HTML page. One level took 3
/// KiB in a measurement.
const OF_LEVEL: u64 = 4 << 10;
/// Estimated host memory in bytes for writing one source to the manifest, the report and the HTML page.
const OF_SOURCE: u64 = 6 << 10;

/// Returns the maximum number of levels that the report lists for each search, if there are `sources` searches.
fn levels_reported(sources: u64) -> u64 {
    (LEVELS / sources.max(1)).max(LEVELS_OF_EACH)
}

/// Returns an upper bound on the host memory in bytes for reporting `sources` searches of a graph with `vertices`
/// vertices.
pub fn report_bytes(sources: u64, vertices: u64) -> u64 {
    sources * (OF_SOURCE + OF_LEVEL * levels_reported(sources).min(vertices))
}

//! One trial: a search from every source, whose results last as soon as they are known, and checks of the trees in batches.

use crate::algo::bfs::component::Components;
use crate::algo::bfs::engine;
use crate::algo::bfs::graph500::{Block, Sample, Size, harmonic_mean_teps};
use crate::algo::bfs::levels::Tree;
use crate::algo::bfs::record::{self, SourceDone, SourceState};
use crate::algo::bfs::roots::{self, Root};
use crate::algo::bfs::search::{NONE, Search, Searched};
use crate::algo::bfs::task::{Found, SourceFound, Table};
use crate::algo::bfs::validate;
use crate::algo::bfs::write::{self, TreeWriter};
use crate::algo::energy::{self, Begun, Meters};
use crate::algo::{Outcome, Run};
use crate::comm::agreed;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::ids::Vertex;
use crate::memory::{Buffer, populate};
use crate::prepare::prepared::Graph;
use crate::process::signals;
use crate::store::journal::Journal;
use serde_json::{Value, json};
use std::time::Instant;

/// Most trees that are checked together: the levels of so many lie in a cache line.
pub(super) const BATCH: usize = 64;

/// Returns the bytes that `trees` trees take until they are checked and written.
pub(super) fn tree_bytes(table: &Table, vertices: u64, trees: usize) -> u64 {
    let checks = if table.validate { validate::bytes(vertices, trees, 0) } else { 0 };
    let writes = if table.write { write::bytes(vertices) } else { 0 };
    4 * vertices * trees as u64 + checks + writes
}

/// Runs one trial. Collective.
///
/// # Errors
/// [`Error::Input`] for a source that is not there, [`Error::Validation`] for a tree that is wrong, [`Error::Limit`], those of the disk and of
/// devices, a stop.
pub(super) fn search(table: &Table, graph: &Graph, run: &mut Run<'_>) -> Result<Outcome> {
    let comm = run.comm;
    let roots = agreed(comm, || roots::of(table, graph))?;
    // That of rank 0, where alone such a decision is made.
    let mut ledger = None;
    let todo = agreed(comm, || Ok(ledger.insert(Ledger::open(table, graph, &roots, run)?).todo()))?;
    run.progress.resume_at((roots.len() - todo.len()) as u64);
    let measures = run.measures_energy && agreed(comm, || Ok(ledger.as_ref().is_some_and(|l| l.energy.is_none())))?;
    if !todo.is_empty() || measures && roots.iter().any(|root| root.vertex.is_some()) {
        search_all(table, graph, run, (&roots, &todo), ledger.as_mut(), measures)?;
    }
    agreed(comm, || match ledger {
        Some(ledger) => ledger.outcome(run),
        None => Err(Error::internal("sum up searches", "this rank does not lead")),
    })
}

/// Searches from the sources `todo`, whose results go to the ledger of rank 0, and measures the energy of all searches if asked to. Collective.
fn search_all(
    table: &Table,
    graph: &Graph,
    run: &mut Run<'_>,
    (roots, todo): (&[Root], &[usize]),
    mut ledger: Option<&mut Ledger<'_>>,
    measures_energy: bool,
) -> Result<()> {
    let comm = run.comm;
    let vertices = graph.info.connected;
    let spare = if comm.leads() { tree_bytes(table, vertices, 1) } else { 0 };
    // What searches need of the graph lives as long as they do.
    let degrees = graph.degrees()?;
    let mut engine = engine::choose(table, graph, &degrees, run, spare)?;
    let trees = agreed(comm, || {
        let fits = |trees: &usize| tree_bytes(table, vertices, *trees) <= run.budget.free();
        let most = if table.validate { BATCH.min(todo.len()) } else { 1 };
        Ok((1..=most).rev().find(fits).unwrap_or(1))
    })?;
    let writer = match ledger.is_some() && table.write && run.is_last {
        true => Some(TreeWriter::new(graph, run.budget)?),
        false => None,
    };
    let rows = if comm.leads() { vertices as usize } else { 0 };
    let mut batch: Vec<Buffer<u32>> = (0..trees)
        .map(|_| run.budget.zeroed(rows, "the parents of a tree (4 bytes a vertex)"))
        .collect::<Result<_>>()?;
    // Memory that nobody has touched yet is no business of the searches that are timed.
    batch.iter_mut().for_each(|tree| populate(tree));
    for some in todo.chunks(trees) {
        for (&source, parents) in some.iter().zip(&mut batch) {
            let root = roots[source];
            let searched = match root.vertex {
                Some(vertex) => engine.search(Vertex(vertex), parents)?,
                None => {
                    parents.fill(NONE);
                    Searched { reached: 1, ..Searched::default() }
                }
            };
            agreed(comm, || match ledger.as_mut() {
                Some(ledger) => ledger.note(source, searched, parents, writer.as_ref(), run),
                None => Ok(()),
            })?;
            signals::check()?;
        }
        agreed(comm, || match ledger.as_mut().filter(|_| table.validate) {
            Some(ledger) => ledger.check(some, &batch, run),
            None => Ok(()),
        })?;
        run.progress.advance(some.len() as u64);
    }
    if measures_energy && let Some(parents) = batch.first_mut() {
        let (energy, searches) = repeat(&mut *engine, roots, parents, run)?;
        agreed(comm, || ledger.map_or(Ok(()), |ledger| ledger.note_energy(energy, searches)))?;
    }
    Ok(())
}

/// Searches from all sources again and again, as the energy loop of Graph500's reference does, and returns what the meters of rank 0 say with the
/// number of searches. Collective.
fn repeat(engine: &mut dyn Search, roots: &[Root], parents: &mut [u32], run: &Run<'_>) -> Result<(Value, u64)> {
    let begun = run.meters.map(Meters::begin);
    let mut rounds = 0;
    let vertices: Vec<u32> = roots.iter().filter_map(|root| root.vertex).collect();
    loop {
        for &vertex in &vertices {
            engine.repeat(Vertex(vertex), parents)?;
        }
        rounds += 1;
        signals::check()?;
        let goes_on = || Ok(begun.as_ref().is_some_and(|begun| begun.seconds() < energy::SECONDS));
        if !agreed(run.comm, goes_on)? {
            return Ok((begun.map_or(Value::Null, Begun::end), rounds));
        }
    }
}

/// The results of every source, on rank 0.
struct Ledger<'a> {
    table: &'a Table,
    graph: &'a Graph,
    roots: &'a [Root],
    journal: Journal,
    states: Vec<SourceState>,
    components: Components<'a>,
    energy: Option<Value>,
}

impl<'a> Ledger<'a> {
    /// Reads what earlier runs found. Files that they wrote are taken over; a source whose files are not whole is searched from again.
    fn open(table: &'a Table, graph: &'a Graph, roots: &'a [Root], run: &mut Run<'_>) -> Result<Ledger<'a>> {
        let (journal, records) = run.units.journal()?;
        let mut states = record::read(&records, roots.len());
        for state in &mut states {
            let Some(done) = &state.done else { continue };
            let writes = table.write && run.is_last;
            if writes && (done.outputs.is_empty() || !run.columns.take_over(&done.outputs)?) {
                *state = SourceState::default();
            }
        }
        let components = Components::new(graph)?;
        Ok(Ledger { table, graph, roots, journal, states, components, energy: record::energy(&records) })
    }

    /// Returns the sources that are not searched from yet, or whose trees were not checked: these are gone.
    fn todo(&self) -> Vec<usize> {
        let is_open = |state: &SourceState| state.done.is_none() || self.table.validate && state.checked.is_none();
        (0..self.states.len()).filter(|&source| is_open(&self.states[source])).collect()
    }

    /// Notes a search, after its columns are written. A search that an earlier run noted keeps its figures.
    fn note(
        &mut self,
        source: usize,
        searched: Searched,
        parents: &[u32],
        writer: Option<&TreeWriter>,
        run: &mut Run<'_>,
    ) -> Result<()> {
        if self.states[source].done.is_some() {
            return Ok(());
        }
        let root = self.roots[source];
        let edges = match root.vertex {
            Some(vertex) => self.components.edges(vertex, parents)?,
            None => 0,
        };
        let outputs = match writer {
            Some(writer) => writer.write(&mut run.columns, root, parents, (run.threads, run.budget))?,
            None => Default::default(),
        };
        let done = SourceDone { searched, edges, outputs };
        self.journal.append(&[record::of_search(source, &done)?])?;
        self.states[source].done = Some(done);
        failpoint::hit("bfs.source").map_err(|e| Error::io("note a search", run.units.folder, e))
    }

    /// Checks the trees of these sources together.
    fn check(&mut self, sources: &[usize], batch: &[Buffer<u32>], run: &Run<'_>) -> Result<()> {
        let started = Instant::now();
        let trees = sources.iter().zip(batch).filter_map(|(&source, parents)| {
            let root = self.roots[source];
            Some(Tree { root: Vertex(root.vertex?), parents })
        });
        let trees: Vec<_> = trees.collect();
        let checked = validate::validate(self.graph, &trees, run.threads, run.budget)?;
        let found = sources.iter().filter(|&&source| self.roots[source].vertex.is_some()).zip(checked);
        for (&source, checked) in found {
            let said = self.states[source].done.as_ref().map(|done| (done.searched.reached, done.searched.depth));
            if said != Some((checked.reached, checked.depth)) {
                let what = format!("source {}: the search says {said:?}, its tree {checked:?}", self.roots[source].id);
                return Err(Error::Validation(what));
            }
        }
        let seconds = started.elapsed().as_secs_f64() / sources.len() as f64;
        let records: Vec<_> = sources.iter().map(|&source| record::of_check(source, seconds)).collect();
        self.journal.append(&records)?;
        sources.iter().for_each(|&source| self.states[source].checked = Some(seconds));
        failpoint::hit("bfs.check").map_err(|e| Error::io("note checks of trees", run.units.folder, e))
    }

    /// Notes the energy of `rounds` searches from every source: with the edges that they traversed for each joule, in MTEPS for each watt.
    fn note_energy(&mut self, mut energy: Value, rounds: u64) -> Result<()> {
        let edges: u64 = self.states.iter().filter_map(|state| Some(state.done.as_ref()?.edges)).sum();
        energy["rounds"] = json!(rounds);
        if let Some(joules) = energy["joules"].as_f64().filter(|&joules| joules > 0.0) {
            energy["joules_per_round"] = json!(joules / rounds as f64);
            energy["mteps_per_watt"] = json!((edges * rounds) as f64 / 1e6 / joules);
        }
        self.journal.append(&[record::of_energy(&energy)])?;
        self.energy = Some(energy);
        Ok(())
    }

    /// Returns the outcome of the trial.
    fn outcome(mut self, run: &Run<'_>) -> Result<Outcome> {
        self.journal.sync()?;
        let (mut sources, mut how, mut samples) = (Vec::new(), Vec::new(), Vec::new());
        let mut seconds = 0.0;
        for (root, state) in self.roots.iter().zip(self.states) {
            let missing = || Error::internal("sum up searches", "one is missing");
            let SourceDone { searched, edges, .. } = state.done.ok_or_else(missing)?;
            let Searched { reached, depth, seconds: own, levels } = searched;
            sources.push(SourceFound { source: root.id, reached, depth, edges });
            let teps = if own > 0.0 { edges as f64 / own } else { 0.0 };
            how.push(json!({ "seconds": own, "teps": teps, "levels": levels }));
            seconds += own;
            if edges > 0 {
                // The reference prints -1 where nothing was checked.
                samples.push(Sample { seconds: own, edges, validate: state.checked.unwrap_or(-1.0) });
            }
        }
        let mut how = json!({ "sources": how, "harmonic_mean_teps": harmonic_mean_teps(&samples) });
        let info = &self.graph.info;
        let scale = info.vertices.max(1).next_power_of_two().ilog2();
        let edge_factor = (info.edges as f64 / f64::from(scale).exp2()).round() as u64;
        let size = Size { scale, edge_factor, ranks: run.comm.ranks() as u64, construction: run.construction };
        if let Some(block) = Block::new(size, &samples).filter(|_| self.table.roots > 0) {
            how["graph500"] = block.fields();
        }
        if let Some(energy) = self.energy.filter(|_| run.measures_energy) {
            how["energy"] = energy;
        }
        let found = Found { sources, validated: self.table.validate };
        let found = serde_json::to_value(found).map_err(|e| Error::internal("note the results of searches", e))?;
        Ok(Outcome { found, how: Value::take(&mut how), seconds })
    }
}

//! Runs one trial of a search table: searches from every source, records each result in the journal at once, and checks
//! trees in batches.

use super::ledger::Ledger;
use super::roots::{self, Root};
use super::task::{EngineInput, EngineOf, SearchTask};
use crate::algo::energy::{self, Energy, Meters};
use crate::algo::{Run, TrialOf};
use crate::comm::{Comm, on_leader};
use crate::error::{Error, Result};
use crate::graph::ids::Vertex;
use crate::prepare::prepared::Graph;
use crate::process::{host, signals};
use std::time::Instant;

/// Runs one trial of a search table. Collective: all ranks must call it.
///
/// # Errors
/// [`Error::Input`] for a source that is not in the graph; [`Error::Validation`] for a wrong tree; [`Error::Limit`];
/// errors of disks and devices; [`Error::Stopped`].
pub fn drive<T: SearchTask>(table: &T, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<T>> {
    let comm = run.comm;
    let options = table.options();
    let roots = on_leader(comm, || roots::of(&options.origins, graph))?;
    if comm.is_leader() && run.is_last && roots.len() < options.origins.roots as usize {
        let (name, wanted) = (T::NAME, options.origins.roots);
        match roots.len() {
            0 => tracing::warn!("[{name}] searches from no root: no vertex has an edge that is not a loop"),
            all => tracing::warn!("[{name}] searches from {all} roots, not {wanted}: no more vertices have an edge"),
        }
    }
    // Only rank 0 has the ledger. It decides which searches remain.
    let mut ledger = None;
    let todo = on_leader(comm, || Ok(ledger.insert(Ledger::open(table, graph, &roots, run)?).todo()))?;
    run.progress.resume_at((roots.len() - todo.len()) as u64);
    let measures = run.meters.is_some() && on_leader(comm, || Ok(ledger.as_ref().is_some_and(|l| l.energy.is_none())))?;
    if !todo.is_empty() || measures && roots.iter().any(|root| root.vertex.is_some()) {
        search_all(table, graph, run, (&roots, &todo), ledger.as_mut(), run.meters.filter(|_| measures))?;
    }
    on_leader(comm, || match ledger {
        Some(ledger) => ledger.trial(run),
        None => Err(Error::internal("sum up searches", "this rank does not lead")),
    })
}

/// Searches from the sources with the indices `todo`. Rank 0 records their results in its ledger. If there are
/// `meters`, then measures the energy of all searches. Collective: all ranks must call it.
fn search_all<T: SearchTask>(
    table: &T,
    graph: &Graph,
    run: &mut Run<'_>,
    (roots, todo): (&[Root], &[usize]),
    mut ledger: Option<&mut Ledger<'_, T>>,
    meters: Option<&Meters>,
) -> Result<()> {
    let comm = run.comm;
    let options = table.options();
    let vertices = graph.info.connected;
    let spare = if comm.is_leader() { table.tree_bytes(vertices, 1) } else { 0 };
    // Degrees must live as long as the engine, which reads them.
    let degrees = graph.degrees()?;
    let mut engine = table.engine(EngineInput { graph, degrees: degrees.body_as_u32()?, run, spare })?;
    let at_once = |most: usize, run: &Run<'_>| {
        on_leader(comm, || {
            let free = run.budget.free_excluding(host::process_memory());
            let fits = |trees: &usize| table.tree_bytes(vertices, *trees) <= free;
            Ok((1..=most).rev().find(fits).unwrap_or(1))
        })
    };
    // The host checks many trees together in hardly more time than one tree.
    let most = |todo: &[usize]| if options.validate { T::CHECKED.min(todo.len()) } else { 1 };
    let mut is_checked_there = options.validate && engine.prepare_checks()?;
    let trees = at_once(if is_checked_there { 1 } else { most(todo) }, run)?;
    let writer = match ledger.is_some() {
        true => table.writer(graph, options.write && run.is_last, run.budget)?,
        false => None,
    };
    let rows = if comm.is_leader() { vertices as usize } else { 0 };
    let tree = |run: &Run<'_>| table.tree(graph, rows, run.budget);
    let mut batch = (0..trees).map(|_| tree(run)).collect::<Result<Vec<_>>>()?;
    let mut rest = todo;
    while !rest.is_empty() {
        let (some, later) = rest.split_at(batch.len().min(rest.len()));
        let was_checked_there = is_checked_there;
        for (&source, tree) in some.iter().zip(&mut batch) {
            let mut searched = match roots[source].vertex {
                Some(vertex) => engine.search(Vertex(vertex), tree)?,
                None => table.isolated(graph, tree),
            };
            if source == 0 && comm.is_leader() {
                T::describe(tree, &mut searched);
            }
            let checking = Instant::now();
            if is_checked_there && let Some(vertex) = roots[source].vertex {
                is_checked_there = engine.check(Vertex(vertex), &searched)?;
            }
            let seconds = checking.elapsed().as_secs_f64();
            on_leader(comm, || match ledger.as_mut() {
                Some(ledger) => {
                    ledger.note(source, searched, tree, writer.as_ref(), run)?;
                    if is_checked_there { ledger.note_checks(&[source], seconds, run) } else { Ok(()) }
                }
                None => Ok(()),
            })?;
            signals::check()?;
        }
        let checks = options.validate && !is_checked_there;
        on_leader(comm, || match ledger.as_mut().filter(|_| checks) {
            Some(ledger) => ledger.check(some, &batch, run),
            None => Ok(()),
        })?;
        run.progress.advance(some.len() as u64);
        rest = later;
        if was_checked_there && !is_checked_there && !rest.is_empty() {
            // The engine did not check this tree. It will not check any other tree either, so the host checks all of
            // them.
            let trees = at_once(most(rest), run)?;
            (1..trees).try_for_each(|_| tree(run).map(|tree| batch.push(tree)))?;
        }
    }
    if let Some(meters) = meters
        && let Some(tree) = batch.first_mut()
    {
        let (energy, rounds) = repeat::<T>(&mut engine, roots, tree, (run.comm, meters))?;
        on_leader(comm, || ledger.map_or(Ok(()), |ledger| ledger.note_energy(energy, rounds)))?;
    }
    Ok(())
}

/// Repeats the searches from all sources for some seconds, as the energy loop of the Graph500 reference code does.
/// Returns the energy that the meters of all ranks measured, and the number of repetitions. Collective: all ranks must
/// call it.
fn repeat<T: SearchTask>(
    engine: &mut EngineOf<'_, T>,
    roots: &[Root],
    tree: &mut T::Tree,
    (comm, meters): (&Comm, &Meters),
) -> Result<(Energy, u64)> {
    let begun = meters.begin();
    let mut rounds = 0;
    let vertices: Vec<u32> = roots.iter().filter_map(|root| root.vertex).collect();
    loop {
        for &vertex in &vertices {
            engine.repeat(Vertex(vertex), tree)?;
        }
        rounds += 1;
        signals::check()?;
        if !on_leader(comm, || Ok(begun.seconds() < energy::SECONDS))? {
            return Ok((begun.end(comm), rounds));
        }
    }
}

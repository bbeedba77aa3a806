//! Checks that the input contains the vertices that the job's tables name. The check runs early, so that a missing
//! vertex is reported before rows are built.
//!
//! An id is a vertex if it has an edge or if the input declares it. An edge list declares no ids. An id whose only
//! edges are self-loops is a vertex, too, but degrees do not count self-loops. So if a table names an id of degree 0
//! and the input contains self-loops, the edges are read once more. For a graph that another job kept, the input of
//! that job is read.

use crate::algo::edges;
use crate::algo::sources;
use crate::error::{Error, Result};
use crate::formats::{Edges, Input, InputCache, Visitor};
use crate::graph::DenseId;
use crate::job::context::Context;
use crate::job::input::original;
use crate::job::run_record::{IoBytes, RunRecord};
use crate::job::state::order_writer::OrderWriter;
use crate::prepare::order;
use crate::prepare::prepared::InputInfo;
use crate::prepare::relabel::{ISOLATED, vertex};
use crate::process::progress::Unit;
use std::path::Path;

/// Checks that the input contains all vertices that the job's tables name. `order` is the degree order if this run
/// computed it; otherwise it is read from `folder`. `input` is `None` if this run did not open the input. Collective.
///
/// # Errors
/// [`crate::Error::Input`] for a missing vertex, or for a vertex without an edge in the rows if the input is gone or has
/// changed; errors of reading the degree order, the list of sparse ids, and the input.
pub(crate) fn check(
    context: &Context,
    record: &mut RunRecord,
    info: &InputInfo,
    folder: &Path,
    order: Option<&OrderWriter>,
    input: Option<(&Input, &InputCache<'_>)>,
) -> Result<()> {
    let named = original::named(&context.job);
    let dense: Vec<u32> =
        context.on_leader(|| Ok(sources::dense(&named, folder, info)?.into_iter().map(|DenseId(id)| id).collect()))?;
    // The lists of sparse ids and of string ids include ids that have only self-loops.
    if info.declared || info.sparse || info.names || dense.is_empty() {
        return Ok(());
    }
    let mut without_degree: Vec<u64> = match order.map(OrderWriter::order) {
        Some(order) => {
            // A rank may have only its own share of the order.
            let mine = if order.whole { 0..order.map.len() } else { context.comm.share(order.map.len()) };
            let is_one = |id: usize| mine.contains(&id) && order.map[id] == ISOLATED;
            dense.iter().map(|&id| is_one(id as usize).into()).collect()
        }
        None => context.on_leader(|| {
            let order = order::map(folder, info.content)?;
            let map = order.ids()?;
            Ok(dense.iter().map(|&id| vertex(map, DenseId(id)).is_none().into()).collect())
        })?,
    };
    context.comm.all_max(&mut without_degree);
    let mut ids: Vec<u32> =
        dense.iter().zip(&without_degree).filter(|(_, is_one)| **is_one > 0).map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    let looped = match input {
        _ if info.loops == 0 || ids.is_empty() => vec![0; ids.len()],
        Some((input, cache)) => {
            cache.make_room(&context.budget, input.scratch_bytes(context.threads));
            with_loops(context, record, input, info, &ids)?
        }
        None => {
            let edges = original::open(&context.job, info);
            let looped = edges.and_then(|input| with_loops(context, record, &input, info, &ids));
            let first = named.iter().zip(&dense).find(|(_, id)| ids.binary_search(id).is_ok());
            looped.map_err(|e| match (e, first) {
                (e @ Error::Input { .. }, Some((&named, _))) => {
                    let why = format!(", whose only edge may be a self-loop, but the input can't be read again: {e}");
                    sources::unknown(named, &why, info)
                }
                (e, _) => e,
            })?
        }
    };
    let has_loop = |id: &u32| ids.binary_search(id).map_or(true, |at| looped[at] > 0);
    let lacking = named.iter().zip(&dense).find(|(_, id)| !has_loop(id));
    lacking.map_or(Ok(()), |(&named, _)| Err(sources::unknown(named, ", which no edge has", info)))
}

/// Reads all edges. Returns for each of the sorted `ids` 1 if it has a self-loop, otherwise 0. Collective.
fn with_loops(
    context: &Context,
    record: &mut RunRecord,
    input: &Input,
    info: &InputInfo,
    ids: &[u32],
) -> Result<Vec<u64>> {
    let (comm, bytes) = (context.comm.clone(), input.bytes() / context.comm.ranks() as u64);
    let mut looped = record.stage(context, "ingest", bytes, Unit::Bytes, |progress| {
        let _reading = context.budget.reserve(input.scratch_bytes(context.threads), "reading the input")?;
        let mut visitors: Vec<_> =
            (0..context.threads).map(|_| LoopFinder { ids, looped: vec![0; ids.len()] }).collect();
        edges::read_again(input, info, &mut visitors, &comm, progress)?;
        let mut looped = vec![0; ids.len()];
        for visitor in visitors {
            looped.iter_mut().zip(visitor.looped).for_each(|(all, one)| *all |= one);
        }
        Ok((looped, IoBytes { read: progress.done(), written: 0 }))
    })?;
    comm.all_max(&mut looped);
    Ok(looped)
}

/// Visitor that determines which of the sorted `ids` have a self-loop among the edges that one thread reads.
struct LoopFinder<'a> {
    ids: &'a [u32],
    looped: Vec<u64>,
}

impl Visitor for LoopFinder<'_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        edges.try_each(|u, v| {
            if u == v
                && let Some(at) = u32::try_from(u).ok().and_then(|id| self.ids.binary_search(&id).ok())
            {
                self.looped[at] = 1;
            }
            Ok(())
        })
    }
}

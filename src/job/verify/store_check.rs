//! Checks that a stored graph is intact: degree order, ids, degrees and blocks. It is a part of `gpugraph verify`.

use crate::algo::Verdict;
use crate::error::{At, Error, Result};
use crate::graph::block_store::BlockStore;
use crate::graph::degrees::{self, DegreeSummary};
use crate::graph::direction::EdgeDirection;
use crate::graph::half::Half;
use crate::graph::order::DegreeRuns;
use crate::graph::stored;
use crate::job::graph::stored_blocks::StoredHalf;
use crate::job::graph::{merge as merged, transpose};
use crate::job::state::manifest::Manifest;
use crate::memory::Budget;
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::merge::merge_rows;
use crate::prepare::names::Names;
use crate::prepare::order;
use crate::prepare::prepared::{Graph, InputInfo, StoreInfo, UpperInfo};
use crate::prepare::weight_list::WeightCodes;
use rayon::prelude::*;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Opens the graph that another job kept in `workdir`, and checks that all of it is intact.
///
/// # Errors
/// The first damage found.
pub(crate) fn prepared_graph(workdir: &Path) -> Result<Graph> {
    let graph = crate::job::state::kept::open(workdir)?;
    graph.block_store.verify(crate::process::signals::check)?;
    degrees_agree(&graph.folder, &graph.info, &graph.stored)?;
    Ok(graph)
}

/// Checks the rows that a job derived from another job's graph and stored in its own `workdir`.
///
/// # Errors
/// An error while writing the verdict or reading the degree order.
pub(crate) fn own_rows(graph: &Graph, workdir: &Path, manifest: &Manifest, verdict: &mut Verdict<'_>) -> Result<()> {
    let folder = workdir.join("graph");
    if !folder.is_dir() {
        return Ok(());
    }
    let runs = order::read_runs(&graph.folder, graph.info.content)?;
    derived_rows(graph, &folder, &runs, manifest, verdict)
}

/// Checks the degree order, ids, degrees and blocks of the job's own graph, as far as they are stored.
///
/// # Errors
/// An error while writing the verdict. Damage is reported to `verdict`.
pub(crate) fn stored_graph(
    workdir: &Path,
    manifest: &Manifest,
    info: &InputInfo,
    budget: &Budget,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let folder = workdir.join("graph");
    if !folder.is_dir() {
        return verdict.skip("graph", "not kept after the job (keep = true in [job] keeps it)");
    }
    if info.sparse {
        let ids = Dictionary::open(&dictionary::path(&folder), info.identity, budget);
        verdict.note("graph/ids", ids.map(|ids| format!("whole; {} ids", ids.ids().len())))?;
    }
    if let Some(weights) = info.weights.filter(|weights| weights.kind.is_wide()) {
        let list = WeightCodes::open(&folder, weights, budget);
        verdict.note("graph/weights", list.map(|list| format!("whole; {} different weights", list.count())))?;
    }
    if info.names {
        let names = Names::open(&folder, info.identity, info.source.clone());
        verdict.note("graph/names", names.and_then(|names| names.check()))?;
    }
    let runs = order::read_runs(&folder, info.content);
    let Ok(runs) = &runs else {
        verdict.note("graph/order", runs.map(|_| String::new()))?;
        return verdict.skip("graph/lower.*", "the rows of a block are unknown without graph/order");
    };
    let found = format!("whole; {} vertices in {} degrees", runs.vertices(), info.runs);
    verdict.note("graph/order", Ok(found))?;
    let stored: Option<StoreInfo> = manifest.found("sort", info.content);
    let layout = info.layout(runs);
    let weights = stored.as_ref().and_then(|stored| stored.weights);
    let of = StoredHalf { folder: &folder, key: info.content, half: Half::Lower, layout: &layout, weights };
    if stored.as_ref().is_some_and(|stored| stored.in_memory)
        && !stored::listed(&folder, layout.blocks(), |b| stored::path(&folder, Half::Lower, b)).contains(&true)
    {
        return verdict.skip("graph/lower.*", "rows were in memory; the next run of the job makes them again");
    }
    let whole = note_half(&of, stored.is_some(), verdict)?;
    let Some(stored) = stored else { return Ok(()) };
    if stored.degrees {
        verdict.note("graph/degrees", degrees_agree(&folder, info, &stored))?;
    } else {
        verdict.skip("graph/degrees", "not stored: kept graphs and counts at vertices need it")?;
    }
    if !whole {
        return Ok(());
    }
    let graph = match Graph::open(workdir, info.clone(), stored) {
        Ok(graph) => graph,
        Err(e) => return verdict.note("graph", Err(e)),
    };
    verdict.note("graph", Ok(format!("{} edges, as in the manifest", graph.stored.edges)))?;
    derived_rows(&graph, &folder, runs, manifest, verdict)
}

/// Checks the stored rows in `folder` that were derived from the rows of `graph`: the upper half, and the merged rows
/// (all neighbours) of a directed graph.
fn derived_rows(
    graph: &Graph,
    folder: &Path,
    runs: &DegreeRuns,
    manifest: &Manifest,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let (key, layout) = (graph.info.content, graph.info.upper_layout(runs));
    let upper = manifest.found::<UpperInfo>(transpose::STAGE, key);
    let listed = || stored::listed(folder, layout.blocks(), |b| stored::path(folder, Half::Upper, b));
    if upper.is_some() || listed().contains(&true) {
        let weights = upper.as_ref().and_then(|upper| upper.weights);
        let of = StoredHalf { folder, key, half: Half::Upper, layout: &layout, weights };
        if note_half(&of, upper.is_some(), verdict)? {
            let upper = BlockStore::open(folder, key, Half::Upper, layout.clone());
            let upper = upper.and_then(|upper| upper.with_weights(folder, Half::Upper, weights));
            let agree = upper.and_then(|upper| halves_agree(&graph.block_store, &upper, weights.is_some()));
            verdict.note("upper half of rows", agree)?;
        }
    }
    let (rows, layout) = merged::place(graph, runs, folder);
    let stored = manifest.found::<StoreInfo>(merged::STAGE, rows.key);
    if stored.is_some() || rows.folder.is_dir() {
        let weights = stored.as_ref().and_then(|stored| stored.weights);
        let of = StoredHalf { folder: &rows.folder, key: rows.key, half: Half::Lower, layout: &layout, weights };
        if note_half(&of, stored.is_some(), verdict)? && stored.is_some() {
            let found = graph.without_direction(rows, layout, weights);
            verdict.note("rows of all neighbours", found.and_then(|merged| are_merged(graph, &merged)))?;
        }
    }
    Ok(())
}

/// Rebuilds every merged row from the vertex's out-neighbours and in-neighbours, and compares it with the stored row.
/// Also checks the sum of the degrees.
fn are_merged(graph: &Graph, merged: &Graph) -> Result<String> {
    let (rows, direction) = (&merged.block_store, graph.info.direction);
    let of_block = |b: usize| -> Result<()> {
        crate::process::signals::check()?;
        let block = rows.block(b);
        let (mut union, mut of_union) = (Vec::new(), Vec::new());
        let merge = if merged.stored.weights.is_some() { merge_rows::<true> } else { merge_rows::<false> };
        for v in block.first_row..block.end_row() {
            union.clear();
            of_union.clear();
            let ways = [EdgeDirection::Out, EdgeDirection::In].map(|way| direction.row(v, way));
            let [out, into] = ways.map(|row| graph.block_store.weighted_row(row));
            merge(out, into, &mut union, &mut of_union);
            if rows.weighted_row(v) != (&union[..], &of_union[..]) {
                let what = format!("vertex {v}: its row is not its out-row and its in-row together");
                return Err(Error::Validation(what));
            }
        }
        Ok(())
    };
    (0..rows.len()).into_par_iter().try_for_each(of_block)?;
    let file = merged.degrees()?;
    let ends: u64 = file.body_as_u32()?.iter().map(|&degree| u64::from(degree)).sum();
    if ends != 2 * merged.stored.edges {
        return Err(Error::Validation(format!("{} edges, and degrees that sum to {ends}", merged.stored.edges)));
    }
    Ok(format!("{} edges, those of either direction", merged.stored.edges))
}

/// Compares the two halves of the rows. They must have the same number of entries and the same sum of hashes over
/// their edges. If `weighted`, the hashes include weights.
fn halves_agree(lower: &BlockStore, upper: &BlockStore, weighted: bool) -> Result<String> {
    let direction = lower.layout.direction();
    let sum = |half: &BlockStore, edge: fn(u32, u32) -> u64| -> Result<u64> {
        let mut sum = 0u64;
        for b in 0..half.len() {
            crate::process::signals::check()?;
            let (block, weights) = (half.block(b), if weighted { half.weights(b) } else { &[] });
            let of_row = |row: usize| {
                let v = block.first_row + row as u32;
                let edge = |w: u32| edge(v, direction.opposite(v, w)).to_le_bytes();
                let hash = |w: u32, weight: u32| xxh3_64_with_seed(&edge(w), weight.into());
                let entries = block.entries(row).map(|at| (block.targets[at], weights.get(at).copied().unwrap_or(0)));
                entries.fold(0u64, |sum, (w, weight)| sum.wrapping_add(hash(w, weight)))
            };
            let of_block = (0..block.rows()).into_par_iter().map(of_row).reduce(|| 0, u64::wrapping_add);
            sum = sum.wrapping_add(of_block);
            half.release(b);
        }
        Ok(sum)
    };
    let of_lower = (lower.edges(), sum(lower, |v, w| u64::from(v) << 32 | u64::from(w))?);
    let of_upper = (upper.edges(), sum(upper, |v, w| u64::from(w) << 32 | u64::from(v))?);
    if of_lower != of_upper {
        let [lower, upper] = [of_lower, of_upper].map(|(edges, sum)| format!("{edges} edges of sum {sum:016x}"));
        return Err(Error::Validation(format!("{upper} in the upper half, {lower} in the lower")));
    }
    Ok(format!("{} edges, those of the lower half", upper.edges()))
}

/// Checks all blocks of `half`, with their weights if any, and reports the result to `verdict`. If `all` is true, no
/// block may be missing. Returns true if all blocks exist and are intact.
fn note_half(half: &StoredHalf<'_>, all: bool, verdict: &mut Verdict<'_>) -> Result<bool> {
    let name = format!("graph/{}.*", half.half.name());
    let (mut whole, mut missing, mut bytes) = (0, 0, 0);
    for b in 0..half.layout.blocks() {
        crate::process::signals::check()?;
        match half.check(b) {
            Ok(n) => (whole, bytes) = (whole + 1, bytes + n),
            Err(e) if e.is_missing() && !all => missing += 1,
            Err(e) => verdict.note(&name, Err(e))?,
        }
    }
    let of = half.layout.blocks();
    if whole + missing == of {
        let weights = half.weights.map(|weights| format!("; with weights of type {}", weights.kind));
        let weights = weights.unwrap_or_default();
        let found = format!("{whole} of {of} blocks there and whole, {bytes} bytes; rows ascend{weights}");
        verdict.note(&name, Ok(found))?;
    }
    Ok(whole == of)
}

fn degrees_agree(folder: &Path, info: &InputInfo, stored: &StoreInfo) -> Result<String> {
    let file = degrees::open(folder, info.content)?;
    let degrees = file.body_as_u32()?;
    let summary = DegreeSummary::of(degrees);
    let ends: u64 = degrees.iter().map(|&d| u64::from(d)).sum();
    if degrees.len() as u64 != info.direction.rows(info.connected)
        || ends != 2 * stored.edges
        || summary != stored.summary
    {
        let what = format!("{} degrees that sum to {ends} don't fit the manifest", degrees.len());
        return Err(Error::corrupt(file.path(), At::File, what));
    }
    Ok(format!("whole; {} of them, {} at most, twice the edges in all", degrees.len(), summary.max_degree))
}

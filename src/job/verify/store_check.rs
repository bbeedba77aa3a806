//! Checks that a stored graph is as it was written: the part of `verify` that reads order, ids, degrees and blocks.

use crate::algo::Verdict;
use crate::error::{At, Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::graph::degrees::{self, DegreeSummary};
use crate::graph::direction::Way;
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::stored::{self, StoredBlock};

use crate::job::graph::{merge as merged, transpose};
use crate::job::state::manifest::Manifest;
use crate::memory::Budget;
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::merge::merge;
use crate::prepare::order;
use crate::prepare::prepared::{Graph, InputInfo, StoreInfo, UpperInfo};
use rayon::prelude::*;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// The graph that another job kept in `workdir`, if all of it is whole.
///
/// # Errors
/// The first damage that is found.
pub(crate) fn prepared_graph(workdir: &Path) -> Result<Graph> {
    let graph = crate::job::state::kept::open(workdir)?;
    graph.catalogue.verify(crate::process::signals::check)?;
    degrees_agree(&graph.folder, &graph.info, &graph.stored)?;
    Ok(graph)
}

/// Order, ids, degrees and blocks of the job's own graph, as far as they are stored.
///
/// # Errors
/// Those of telling; what is not whole is in the verdict.
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
    let runs = order::read_runs(&folder, info.content);
    let Ok(runs) = &runs else {
        verdict.note("graph/order", runs.map(|_| String::new()))?;
        return verdict.skip("graph/lower.*", "which rows are in a block can't be told without graph/order");
    };
    let found = format!("whole; {} vertices in {} degrees", runs.vertices(), info.runs);
    verdict.note("graph/order", Ok(found))?;
    let stored: Option<StoreInfo> = manifest.found("sort", info.content);
    let layout = info.layout(runs);
    let whole = blocks(&folder, info.content, Half::Lower, &layout, stored.is_some(), verdict)?;
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
    upper_half(&graph, &folder, runs, manifest, verdict)?;
    merged_rows(&graph, &folder, manifest, verdict)
}

/// The rows of all neighbours of `graph`, which keeps direction, in `folder`, as far as they are there.
///
/// # Errors
/// Those of telling.
pub(crate) fn merged_rows(graph: &Graph, folder: &Path, manifest: &Manifest, verdict: &mut Verdict<'_>) -> Result<()> {
    let (rows, layout) = merged::rows(graph, folder)?;
    let is_done = manifest.found::<StoreInfo>(merged::STAGE, rows.key).is_some();
    if !is_done && !rows.folder.is_dir() {
        return Ok(());
    }
    if blocks(&rows.folder, rows.key, Half::Lower, &layout, is_done, verdict)? && is_done {
        let found = graph.without_direction(rows, layout);
        verdict.note("rows of all neighbours", found.and_then(|merged| are_merged(graph, &merged)))?;
    }
    Ok(())
}

/// Makes every row of all neighbours again from out-row and in-row, and counts degrees.
fn are_merged(graph: &Graph, merged: &Graph) -> Result<String> {
    let (rows, direction) = (&merged.catalogue, graph.info.direction);
    let of_block = |b: usize| -> Result<()> {
        crate::process::signals::check()?;
        let block = rows.block(b);
        let mut union = Vec::new();
        for v in block.first_row..block.end_row() {
            union.clear();
            let [out, into] = [Way::Out, Way::In].map(|way| graph.catalogue.row(direction.row(v, way)));
            merge(out, into, &mut union);
            if union != block.row((v - block.first_row) as usize) {
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

/// The blocks of the upper half of `graph` in `folder`, as far as they are there.
///
/// # Errors
/// Those of telling.
pub(crate) fn upper_half(
    graph: &Graph,
    folder: &Path,
    runs: &DegreeRuns,
    manifest: &Manifest,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let info = &graph.info;
    let is_done = manifest.found::<UpperInfo>(transpose::STAGE, info.content).is_some();
    let layout = info.upper_layout(runs);
    if !is_done && !stored::listed(folder, Half::Upper, layout.blocks()).contains(&true) {
        return Ok(());
    }
    if blocks(folder, info.content, Half::Upper, &layout, is_done, verdict)? {
        let upper = Catalogue::open(folder, info.content, Half::Upper, layout);
        verdict.note("upper half of rows", upper.and_then(|upper| halves_agree(&graph.catalogue, &upper)))?;
    }
    Ok(())
}

/// Holds the halves of rows against each other: both must have as many entries, and the same sum of a hash of their edges.
fn halves_agree(lower: &Catalogue, upper: &Catalogue) -> Result<String> {
    let direction = lower.layout.direction();
    let sum = |half: &Catalogue, edge: fn(u32, u32) -> u64| -> Result<u64> {
        let mut sum = 0u64;
        for b in 0..half.len() {
            crate::process::signals::check()?;
            let block = half.block(b);
            let of_row = |row: usize| {
                let v = block.first_row + row as u32;
                let hash = |w: u32| xxh3_64(&edge(v, direction.opposite(v, w)).to_le_bytes());
                block.row(row).iter().fold(0u64, |sum, &w| sum.wrapping_add(hash(w)))
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

fn blocks(folder: &Path, key: u64, half: Half, layout: &Layout, all: bool, verdict: &mut Verdict<'_>) -> Result<bool> {
    let name = format!("graph/{}.*", half.name());
    let (mut whole, mut missing, mut bytes) = (0, 0, 0);
    for b in 0..layout.blocks() {
        crate::process::signals::check()?;
        let block = StoredBlock::open(folder, key, half, layout, b);
        let checked = block.and_then(|block| {
            block.verify()?;
            block.release();
            Ok(block.bytes())
        });
        match checked {
            Ok(n) => (whole, bytes) = (whole + 1, bytes + n),
            Err(e) if e.is_missing() && !all => missing += 1,
            Err(e) => verdict.note(&name, Err(e))?,
        }
    }
    let of = layout.blocks();
    if whole + missing == of {
        let found = format!("{whole} of {of} blocks there and whole, {bytes} bytes; rows ascend");
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

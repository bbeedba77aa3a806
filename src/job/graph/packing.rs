//! Packs (compresses) the rows of both halves of a graph in memory if they do not fit unpacked. `job/plan/packing.rs`
//! decides when.

use super::upper::Upper;
use crate::error::{Error, Result};
use crate::graph::{BlockStore, Half, HalfPacked, Layout, PackedRows, Packer, stored};
use crate::job::context::Context;
use crate::job::plan::cost_model::TRANSPOSE_STAGE;
use crate::job::run_record::{IoBytes, RunRecord};
use crate::prepare::prepared::Graph;
use crate::prepare::transpose::{Destination, Transposed};
use crate::process::progress::Unit;
use crate::process::signals;
use crate::{failpoint, size};
use rayon::prelude::*;

/// Divisor: without a GPU, the rows that one pass builds (a window) use at most 1/`WINDOW_PART` of the free memory.
const WINDOW_PART: u64 = 8;

/// Packs the rows of a graph whose lower half is in memory. If they need more memory than expected, stores the blocks
/// in files instead and returns false.
///
/// # Errors
/// [`Error::Limit`], [`Error::Io`], [`Error::Stopped`].
pub(super) fn pack_or_store(
    context: &Context,
    record: &mut RunRecord,
    graph: &mut Graph,
    layout: &Layout,
) -> Result<bool> {
    let mut begun = None;
    match pack(context, record, graph, layout, &mut begun) {
        Err(why @ Error::Limit { .. }) if graph.block_store.is_in_memory() => {
            tracing::info!("rows do not fit in memory even when packed, so they are stored: {why}");
            store(context, graph, begun)?;
            Ok(false)
        }
        packed => packed.map(|()| true),
    }
}

/// Packs both halves of the rows. The upper half is packed while it is derived from the lower half. If the packed
/// lower half does not fit in memory, `begun` receives its blocks, some packed and some not.
fn pack(
    context: &Context,
    record: &mut RunRecord,
    graph: &mut Graph,
    layout: &Layout,
    begun: &mut Option<Box<HalfPacked>>,
) -> Result<()> {
    record.stage(context, TRANSPOSE_STAGE, graph.stored.edges, Unit::Edges, |progress| {
        let wanted = vec![true; layout.blocks()];
        let packer = Packer::new(layout.blocks(), &context.budget)?;
        // Lets a test simulate that memory runs out.
        if failpoint::hit("packed.rows").is_err() {
            context.budget.reserve(u64::MAX / 2, "packed rows")?;
        }
        let of = Upper { graph, layout, wanted: &wanted, weights: None, to: Destination::Packed(&packer) };
        // Only the CPU code needs host memory for a window of rows. Packed rows use the rest of the memory.
        let Transposed { passes, .. } = of.make(context, context.budget.free() / WINDOW_PART, progress)?;
        let read = passes * graph.block_store.bytes();
        let (upper, edges) = (packer.finish()?, graph.stored.edges.max(1) as f64);
        let of_upper = upper.bytes();
        graph.pack(BlockStore::of_packed(layout.clone(), upper), &context.budget).map_err(|(e, half)| {
            *begun = half;
            e
        })?;
        let of_lower = graph.block_store.packed().map_or(0, PackedRows::bytes);
        let [lower, upper] = [of_lower, of_upper].map(|bytes| bytes as f64 / edges);
        tracing::info!(
            memory = size::show(of_lower + of_upper),
            "rows are packed in memory: {lower:.2} bytes per entry in the lower half, {upper:.2} in the upper"
        );
        Ok(((), IoBytes { read, written: 0 }))
    })
}

/// Writes the blocks of the lower half to files. `begun` contains these blocks if some of them are already packed.
fn store(context: &Context, graph: &mut Graph, begun: Option<Box<HalfPacked>>) -> Result<()> {
    let (folder, key, layout) = (context.graph_folder(), graph.info.content, graph.block_store.layout.clone());
    let write = |b: usize, lengths: &[u32], targets: &[u32]| {
        signals::check()?;
        context.syncer.push(stored::write(&folder, key, &layout, b, &[(lengths, targets)])?);
        Ok(())
    };
    match begun {
        Some(half) => half.store(write)?,
        None => (0..graph.block_store.len()).into_par_iter().try_for_each(|b| {
            let block = graph.block_store.block(b);
            write(b, &block.lengths(), block.targets)
        })?,
    }
    graph.block_store = BlockStore::open(&folder, key, Half::Lower, layout)?;
    Ok(())
}

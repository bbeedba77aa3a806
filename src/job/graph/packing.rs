//! Packs rows of both halves in memory, if they do not fit otherwise (`job/plan/packing.rs` decides when).

use super::transpose::{STAGE, Upper};
use crate::error::{Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::packed::{HalfPacked, PackedRows, Packer};
use crate::graph::stored;
use crate::job::context::Context;
use crate::job::run_record::{Moved, RunRecord};
use crate::prepare::prepared::Graph;
use crate::prepare::transpose::{Destination, Transposed};
use crate::process::progress::Unit;
use crate::process::signals;
use crate::{failpoint, size};
use rayon::prelude::*;

/// Divisor: without a GPU, a window of rows takes at most this part of free memory.
const WINDOW_PART: u64 = 8;

/// Packs the rows of a graph whose lower half is in memory. If they take more memory than expected, stores the blocks
/// instead and returns false.
///
/// # Errors
/// Errors of `transpose::ensure`.
pub(super) fn pack_or_store(
    context: &Context,
    record: &mut RunRecord,
    graph: &mut Graph,
    layout: &Layout,
) -> Result<bool> {
    let mut begun = None;
    match pack(context, record, graph, layout, &mut begun) {
        Err(why @ Error::Limit { .. }) if graph.catalogue.is_in_memory() => {
            tracing::info!("rows do not fit in memory even when packed, so they are stored: {why}");
            store(context, graph, begun)?;
            Ok(false)
        }
        packed => packed.map(|()| true),
    }
}

/// Packs both halves, the upper one while it is derived from the lower one. If the lower half does not fit, `begun`
/// receives the part that was packed.
fn pack(
    context: &Context,
    record: &mut RunRecord,
    graph: &mut Graph,
    layout: &Layout,
    begun: &mut Option<Box<HalfPacked>>,
) -> Result<()> {
    record.stage(context, STAGE, graph.stored.edges, Unit::Edges, |progress| {
        let wanted = vec![true; layout.blocks()];
        let packer = Packer::new(layout.blocks(), &context.budget)?;
        // A test may take the memory away.
        if failpoint::hit("packed.rows").is_err() {
            context.budget.reserve(u64::MAX / 2, "packed rows")?;
        }
        let of = Upper { graph, layout, wanted: &wanted, weights: None, to: Destination::Packed(&packer) };
        // The window is needed only if no GPU does the work. Packed rows get the rest of the memory.
        let Transposed { passes, .. } = of.make(context, context.budget.free() / WINDOW_PART, progress)?;
        let read = passes * graph.catalogue.bytes();
        let (upper, edges) = (packer.finish()?, graph.stored.edges.max(1) as f64);
        let of_upper = upper.bytes();
        graph.pack(Catalogue::of_packed(layout.clone(), upper), &context.budget).map_err(|(e, half)| {
            *begun = half;
            e
        })?;
        let of_lower = graph.catalogue.packed().map_or(0, PackedRows::bytes);
        let [lower, upper] = [of_lower, of_upper].map(|bytes| bytes as f64 / edges);
        tracing::info!(
            memory = size::show(of_lower + of_upper),
            "rows are packed in memory: {lower:.2} bytes per entry in the lower half, {upper:.2} in the upper"
        );
        Ok(((), Moved { read, written: 0 }))
    })
}

/// Writes the blocks of the lower half to files, whether packed or not.
fn store(context: &Context, graph: &mut Graph, begun: Option<Box<HalfPacked>>) -> Result<()> {
    let (folder, key, layout) = (context.graph_folder(), graph.info.content, graph.catalogue.layout.clone());
    let write = |b: usize, lengths: &[u32], targets: &[u32]| {
        signals::check()?;
        context.syncer.push(stored::write(&folder, key, &layout, b, &[(lengths, targets)])?);
        Ok(())
    };
    match begun {
        Some(half) => half.store(write)?,
        None => (0..graph.catalogue.len()).into_par_iter().try_for_each(|b| {
            let block = graph.catalogue.block(b);
            write(b, &block.lengths(), block.targets)
        })?,
    }
    graph.catalogue = Catalogue::open(&folder, key, Half::Lower, layout)?;
    Ok(())
}

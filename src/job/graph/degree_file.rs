//! The file that stores the degrees of all vertices. It is read by some tasks, and by jobs that use a kept graph.

use crate::error::Result;
use crate::graph::{Degrees, Half, Layout, StoredBlock, degrees};
use crate::job::context::Context;
use crate::prepare::prepared::RowFiles;
use crate::process::signals;

/// If the degree file is damaged or missing, rebuilds it from the blocks. Collective.
///
/// # Errors
/// Errors of writing the file and of reading the blocks.
pub(super) fn ensure(context: &Context, rows: &RowFiles, layout: &Layout) -> Result<()> {
    if context.opens("counting degrees", || degrees::open(&rows.folder, rows.key))? {
        return Ok(());
    }
    let degrees = Degrees::new(layout.rows(), &context.budget)?;
    add_stored(context, &degrees, rows, layout, &vec![false; layout.blocks()])?;
    sum_and_write(context, degrees, rows).map(drop)
}

/// Sums the degrees that all ranks have counted, and writes the degree file. Returns the number of bytes that this
/// rank wrote. Collective.
///
/// # Errors
/// Errors of the disk.
pub(super) fn sum_and_write(context: &Context, degrees: Degrees, rows: &RowFiles) -> Result<u64> {
    let mut degrees = degrees.finish();
    context.comm.reduce_scatter(&mut degrees);
    write(context, &mut degrees, rows)
}

/// Gathers every rank's share of the degrees, and lets the leader write the degree file. Returns the number of bytes
/// that this rank wrote. Collective.
///
/// # Errors
/// Errors of the disk.
pub(super) fn write(context: &Context, degrees: &mut [u32], rows: &RowFiles) -> Result<u64> {
    context.comm.all_gather_shares(degrees);
    if !context.comm.is_leader() {
        return Ok(0);
    }
    Ok(context.syncer.push(degrees::write(&rows.folder, rows.key, degrees)?).bytes)
}

/// Adds the edges of all stored blocks to `degrees`. `wanted` is true for each block that must still be built, and
/// false for each stored block. The ranks share the work.
///
/// # Errors
/// Errors of reading the blocks; [`crate::Error::Stopped`].
pub(super) fn add_stored(
    context: &Context,
    degrees: &Degrees,
    rows: &RowFiles,
    layout: &Layout,
    wanted: &[bool],
) -> Result<()> {
    let mut counter = degrees.counter(layout.direction());
    let stored = (0..layout.blocks()).filter(|&b| !wanted[b]);
    for b in stored.skip(context.comm.rank()).step_by(context.comm.ranks()) {
        signals::check()?;
        let block =
            context.retry_until_visible(|| StoredBlock::open(&rows.folder, rows.key, Half::Lower, layout, b))?;
        counter.block(block.block());
        block.file.release();
    }
    Ok(())
}

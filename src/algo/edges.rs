//! Passes over the edges of an input. A signal to the process can end a pass early.

use crate::algo::round;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::failpoint;
pub use crate::formats::EdgeVisitor;
use crate::formats::{self, CacheUse, Input, Scan, Share, Signals, Visitor, Watch};
use crate::prepare::ingest::joined;
use crate::prepare::partition::changed;
use crate::prepare::prepared::InputInfo;

/// Calls `edge` with the raw ids of both endpoints of every edge of an input, on several threads. `edge` also receives
/// the state of its thread: `states` has one element for each thread. Returns the states, and the statistics of the
/// pass.
///
/// # Errors
/// Errors of reading and of `edge`; [`crate::Error::Stopped`].
pub fn each_edge<S: Send>(
    input: &Input,
    states: Vec<S>,
    edge: impl Fn(&mut S, [u64; 2]) -> Result<()> + Sync,
) -> Result<(Vec<S>, Scan)> {
    formats::each_edge(input, states, &Signals, edge)
}

/// Reads again the input from which a graph was prepared. `info` describes the graph. Each rank reads a share of the
/// edges, on one thread for each of its `visitors`, and passes every edge to the visitor of the thread. Collective.
///
/// # Errors
/// Errors of reading and of the visitors, including that the input has changed since the graph was built;
/// [`Error::Stopped`], on all ranks.
pub fn read_again<V: Visitor>(
    input: &Input,
    info: &InputInfo,
    visitors: &mut [V],
    comm: &Comm,
    watch: &dyn Watch,
) -> Result<()> {
    failpoint::hit("input.again").map_err(|e| Error::io("read the input once more", &info.source, e))?;
    let share = Share::of(comm.rank(), comm.ranks());
    let seen = input.scan_share(share, CacheUse::Nothing, visitors, watch);
    // A rank whose scan was stopped must not return alone, because the others would wait in `joined`.
    let scan = joined(round::agree(comm, seen)?, comm)?;
    if (scan.checksum, scan.edges) != (info.checksum, info.edges) {
        return Err(changed(&input.name()));
    }
    Ok(())
}

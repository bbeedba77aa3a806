//! List ranking by several ranks (MPI processes), each of which owns a share of the list.
//!
//! | file | contents |
//! |---|---|
//! | `part` | the share of a process: reading it, and finding the head together |
//! | `shared` | processes of one machine, in memory that they share |
//! | `walk` | sublists that are walked from process to process |
//! | `ruling_set` | the method of sparse ruling sets, from the walk to the computed ranks |
//! | `wyllie` | pointer jumping, for comparison |

mod part;
mod ruling_set;
pub mod shared;
mod walk;
mod wyllie;

pub use part::{ListShare, width};
pub use ruling_set::ruling_set;
pub use wyllie::wyllie;

use crate::algo::listrank::options::Method;
use crate::comm::MessageLimits;
use parking_lot::{Mutex, MutexGuard};

/// The reason why the processes could not rank a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankFault {
    /// The input is not a list: successors repeat, there are cycles, or there is not exactly one tail.
    List,
    /// There are too many sublists for numbers of this index width. A wider index is enough.
    Numbers,
}

/// Maximum number of 32-bit words of a message. For larger messages the allocator would ask the system for memory each
/// time.
const WORDS: usize = 1 << 14;

/// Returns the bytes of memory that a rank needs for a list of `length` elements, in addition to messages.
pub fn memory(length: u64, ranks: usize, method: Method) -> u64 {
    let (share, width) = (part::shares(length, ranks).size, width(length));
    let scratch = if method == Method::Wyllie { wyllie::memory(share, width) } else { ruling_set::memory(length) };
    share * width + scratch
}

/// Returns the limits of size and number of messages among `ranks` ranks (MPI processes).
pub(super) fn shape(ranks: usize) -> MessageLimits {
    MessageLimits { words: WORDS, outgoing: ranks.min(16) + 2, incoming: ranks.min(16) + 2, takers: 1 }
}

/// Returns the bytes of messages that count against the memory budget of a rank, in a job of `ranks` ranks on `nodes`
/// machines.
pub(super) fn messages_bytes(ranks: usize, nodes: usize) -> u64 {
    shape(ranks).bytes(ranks, nodes)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

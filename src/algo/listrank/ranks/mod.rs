//! List ranking by several MPI processes, each of which owns a share of the list: a range of consecutive elements.
//!
//! | file | contents |
//! |---|---|
//! | `part` | the share of a process: reading it, and finding the head together |
//! | `shared` | ranking by the processes of one machine, in shared memory |
//! | `walk` | walking sublists across processes, with messages |
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

/// Reason why processes could not rank a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankFault {
    /// The input is not a list: elements have the same successor, there are cycles, or there is not exactly one tail.
    List,
    /// Indices of sublists do not fit the index type, but would fit a wider one.
    Numbers,
}

/// Maximum number of 32-bit words in a message. For larger messages, the allocator would request memory from the kernel
/// each time.
const WORDS: usize = 1 << 14;

/// Returns the memory in bytes that each of `ranks` MPI processes takes to rank a list of `length` elements, in
/// addition to the memory for messages.
pub fn memory(length: u64, ranks: usize, method: Method) -> u64 {
    let (share, width) = (part::shares(length, ranks).size, width(length));
    let scratch = if method == Method::Wyllie { wyllie::memory(share, width) } else { ruling_set::memory(length) };
    share * width + scratch
}

/// Returns the limits on the size and number of messages between `ranks` MPI processes.
pub(super) fn shape(ranks: usize) -> MessageLimits {
    MessageLimits { words: WORDS, outgoing: ranks.min(16) + 2, incoming: ranks.min(16) + 2, takers: 1 }
}

/// Returns the memory in bytes that messages take on each process, in a job of `ranks` MPI processes on `nodes`
/// machines. It counts against the budget of the process.
pub(super) fn messages_bytes(ranks: usize, nodes: usize) -> u64 {
    shape(ranks).bytes(ranks, nodes)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

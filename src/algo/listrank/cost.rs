//! Cost model of list ranking: memory from the functions that compute buffer sizes, and time from measured rates.

use crate::algo::listrank::cpu;
use crate::algo::listrank::options::{ListRank, Method};
use crate::algo::listrank::{by_files, external, on_gpu, ranks, read};
use crate::algo::{Cost, RankResources};

/// Time to read the successor of one element, in nanoseconds, on one thread.
const READ: f64 = 8.0;
/// Time to rank one element by the serial method, in nanoseconds.
const SERIAL: f64 = 170.0;
/// Time per element in a round of pointer jumping, in nanoseconds, on one thread.
const JUMP: f64 = 12.0;
/// Time to rank one element by ruling sets, in nanoseconds, on one thread.
const RULING_SET: f64 = 14.0;
/// Time to write the rank of one element, in nanoseconds, on one thread.
const WRITE: f64 = 8.0;
/// Disk throughput in bytes per second, for reads and writes.
const DISK: f64 = 1e9;
/// Time per element in a round of pointer jumping, in nanoseconds, on a GPU.
const JUMP_ON_GPU: f64 = 0.025;
/// Time to rank one element by ruling sets, in nanoseconds, on a GPU.
const RULING_SET_ON_GPU: f64 = 0.1;
/// Size of a disk page in bytes. Files occupy whole pages.
const PAGE: u64 = 4096;

/// Returns the cost of list ranking with the options `table` on a list of `length` elements. `reading` is the memory in
/// bytes that reading the list takes.
pub(super) fn of(table: &ListRank, length: u64, reading: u64, resources: &RankResources) -> Cost {
    let method = table.method.on_cpu(length);
    // If host memory can't hold the ranks that a GPU computes, CPUs rank the list with files.
    let from_gpu = reading + on_gpu::memory(length, table);
    let fits_gpu = resources.on_gpu && from_gpu <= resources.free;
    let in_shared = reading + ranks::shared::memory(length);
    let shares =
        method == Method::RulingSet && resources.ranks > 1 && resources.nodes == 1 && in_shared <= resources.free;
    let (memory, exchange) = match (fits_gpu, resources.ranks > 1 && method != Method::Serial) {
        (true, _) => (from_gpu, 0),
        (false, true) if shares => (in_shared, 0),
        (false, true) => {
            let messages = ranks::messages_bytes(resources.ranks, resources.nodes);
            (reading + messages + ranks::memory(length, resources.ranks, method), sent(length, resources, method))
        }
        (false, false) => (single_process_bytes(length, reading, method), 0),
    };
    // A list that does not fit in memory is ranked with files, in bins (ranges of elements) that are as small as
    // necessary.
    let may_contract = method == Method::RulingSet && !fits_gpu;
    let width = by_files::width(length);
    let least = reading + external::least_memory(length, width, resources.threads);
    let contracts = may_contract && memory > resources.free;
    let (memory, least) = match (may_contract, contracts) {
        (true, true) => (resources.free.max(least), least),
        (true, false) => (memory, least.min(memory)),
        (false, _) => (memory, memory),
    };
    let (files, moved) = match contracts {
        true => (external::disk(length, width), external::volume(length, width)),
        false => (0, 0),
    };
    let n = length as f64;
    // If several processes have GPUs, only one of them ranks the list.
    let threads = if fits_gpu { resources.threads as f64 } else { resources.all_threads() };
    let rounds = n.max(2.0).log2().ceil();
    let ranking = match method {
        Method::Wyllie if fits_gpu => JUMP_ON_GPU * rounds,
        _ if fits_gpu => RULING_SET_ON_GPU,
        Method::Serial => SERIAL,
        Method::Wyllie => JUMP * rounds / threads,
        Method::RulingSet | Method::Auto => RULING_SET / threads,
    };
    let each = READ / threads + WRITE + ranking;
    Cost {
        host_memory: memory,
        least_host_memory: least,
        disk: resources.format.row_bytes(8, 20) * length + files + 2 * PAGE,
        exchange,
        seconds: f64::from(resources.trials) * (n * each / 1e9 + moved as f64 / DISK),
        label: format!("listrank {}", if contracts { by_files::METHOD } else { method.name() }),
        ..Cost::default()
    }
}

/// Returns the size of an index in bytes (4 or 8) for a list of `length` elements that one process ranks in memory. The
/// largest value of the index type stands for "no successor".
pub(super) fn index_width(length: u64) -> u64 {
    if length < u64::from(u32::MAX) { 4 } else { 8 }
}

/// Returns approximately how many bytes the processes send to each other to rank a list. With ruling sets they send a
/// walker (a message with an element and a tag) for each element. With pointer jumping they send a request and a reply
/// for each element in each round. Both methods also send the computed ranks.
fn sent(length: u64, resources: &RankResources, method: Method) -> u64 {
    let rounds = u64::from(u64::BITS - length.leading_zeros());
    let bytes = if method == Method::Wyllie { 40 * rounds } else { 2 * ranks::width(length) };
    let others = resources.ranks as u64 - 1;
    (bytes + 8) * (length / resources.ranks as u64) * others
}

/// Returns the host memory in bytes that one process needs to rank a list in memory. `reading` is the memory in bytes
/// that reading the list takes.
pub(super) fn single_process_bytes(length: u64, reading: u64, method: Method) -> u64 {
    let width = index_width(length);
    let ranking = match method {
        Method::Serial => length * width,
        // Pointer jumping has two copies of the successors and of the distances.
        Method::Wyllie => 4 * length * width,
        Method::RulingSet | Method::Auto => cpu::ruling_set::bytes(length, width),
    };
    // The bitmap that checks successors is freed before ranking begins.
    (read::bytes(length, width) + reading).max(length * width + ranking)
}

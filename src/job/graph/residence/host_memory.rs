//! Blocks in host memory that the ranks of one machine read from each other's processes.

use crate::graph::{BlockSize, HostBlock, MemoryBlock, RemoteBlock};
use crate::job::context::Context;
use crate::job::state::key::key;
use crate::memory::{Process, bytes_of, numbers_of};

/// Returns the processes of all ranks if they can read each other's memory, otherwise `None`. The list is empty if
/// there is only one rank. Collective.
pub(super) fn readable_ranks(context: &Context) -> Option<Vec<Process>> {
    if context.comm.ranks() == 1 {
        return Some(Vec::new());
    }
    // Each rank reads a secret from every other process, because a pid could refer to an unrelated process.
    let me = Process::open();
    let secret = Box::new(key("memory", &(me.number(), context.comm.rank(), std::time::SystemTime::now())));
    let mine = [me.number(), std::ptr::from_ref(&*secret) as u64, *secret];
    let all = context.comm.all_gather(bytes_of(&mine));
    let reads = |rank: &Vec<u8>| match numbers_of::<u64>(rank)[..] {
        [process, address, secret] => {
            let (process, mut found) = (Process::of(process), [0; 8]);
            let read = process.read(address, &mut found).is_ok() && found == secret.to_ne_bytes();
            read.then_some(process)
        }
        _ => None,
    };
    let ranks: Option<Vec<Process>> = all.iter().map(reads).collect();
    let reads = context.comm.all(context.comm.nodes() == 1 && ranks.is_some());
    tracing::debug!(reads, "memory of other ranks");
    // After the collective operation above, every rank has read the secret.
    drop(secret);
    ranks.filter(|_| reads)
}

/// Returns all blocks of the graph: the blocks of this rank, shortened to `sizes`, and for each other block its
/// address in the process of the rank that built it. Collective.
pub(super) fn blocks_of_all(
    context: &Context,
    builders: &[u32],
    sizes: &[BlockSize],
    blocks: Vec<HostBlock>,
    ranks: &[Process],
) -> Vec<MemoryBlock> {
    let (mut blocks, rank) = (blocks.into_iter(), context.comm.rank() as u32);
    let mine = |(&builder, size): (&u32, &BlockSize)| {
        let mut block = if builder == rank { blocks.next() } else { None }?;
        block.shorten(size.entries);
        Some(block)
    };
    let held: Vec<Option<HostBlock>> = builders.iter().zip(sizes).map(mine).collect();
    let address = |block: &Option<HostBlock>| block.as_ref().map_or(0, HostBlock::address);
    let mut addresses: Vec<u64> = held.iter().map(address).collect();
    context.comm.all_max(&mut addresses);
    let there = |(builder, address): (&u32, u64)| RemoteBlock { process: ranks[*builder as usize], address };
    let places = builders.iter().zip(addresses);
    held.into_iter()
        .zip(places)
        .map(|(block, at)| block.map_or_else(|| MemoryBlock::Remote(there(at)), MemoryBlock::Local))
        .collect()
}

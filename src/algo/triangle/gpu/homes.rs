//! Blocks in the memory of several ranks' GPUs. Every rank needs all fronts and some partners: from the host, that is each block
//! as often as there are ranks, and the ranks of a machine share the way there. So each brings some blocks to its GPU once,
//! and all copy from there.

use crate::comm::Comm;
use crate::error::Result;
use crate::gpu::{Peer, Source, Span, Workspace, span_bytes};
use crate::graph::catalogue::Catalogue;
use std::ops::Range;
use std::time::Instant;

/// Blocks may take this part of the memory of a GPU.
const PART: u64 = 3;

/// Ranks that all have a GPU of one machine, and the others' GPU memory, by rank.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// The ranks.
    pub comm: &'a Comm,
    /// The others' arenas.
    pub peers: &'a [Peer],
}

/// Where the blocks of a graph lie: offsets and targets.
pub struct Homes {
    blocks: Vec<(Span<u32>, Span<u32>)>,
}

impl Homes {
    /// Brings the blocks of `graph` to the GPUs of all ranks, of which each calls this with nothing given out of its arena;
    /// `least` bytes of it must be left. `None`, on all ranks alike, where there is no room.
    ///
    /// # Errors
    /// [`crate::Error::Lost`], those of reading blocks.
    pub fn bring(
        gpu: &mut Workspace,
        graph: &Catalogue,
        least: u64,
        Beside { comm, peers }: Beside<'_>,
    ) -> Result<Option<Homes>> {
        let homes: Vec<Range<usize>> = (0..comm.ranks()).map(|rank| home(graph, rank, comm.ranks())).collect();
        let bytes = |blocks: &Range<usize>| blocks.clone().map(|block| block_bytes(graph, block)).sum::<u64>();
        let most = homes.iter().map(bytes).max().unwrap_or(0);
        if most > gpu.arena.bytes() / PART || gpu.arena.bytes() - most < least {
            return Ok(None);
        }
        let started = Instant::now();
        let mine = gpu.arena.take_planned::<u32>(most / 4)?;
        let parts: Vec<_> = places(graph, homes[comm.rank()].clone(), |at, len| mine.part(at / 4..at / 4 + len))
            .zip(homes[comm.rank()].clone())
            .flat_map(|((offsets, targets), block)| {
                let (path, first_offset, first_target) = graph.block(block).place();
                let part = |start, to: Span<u32>| (Source::File { path, start, bytes: to.bytes() }, to.as_bytes());
                [part(first_offset, offsets), part(first_target, targets)]
            })
            .collect();
        gpu.uploader.upload(&parts, &|| Ok(()))?.wait()?;

        tracing::debug!(seconds = started.elapsed().as_secs_f64(), "blocks brought home");
        // All are there.
        comm.barrier();
        let mut blocks = Vec::with_capacity(graph.len());
        for (rank, home) in homes.into_iter().enumerate() {
            let there = |at, len| match rank.cmp(&comm.rank()) {
                std::cmp::Ordering::Equal => mine.part(at / 4..at / 4 + len),
                // Every arena begins with its home.
                std::cmp::Ordering::Less => peers[rank].span(at, len),
                std::cmp::Ordering::Greater => peers[rank - 1].span(at, len),
            };
            blocks.extend(places(graph, home, there));
        }
        Ok(Some(Homes { blocks }))
    }

    /// Where the offsets and targets of a block lie.
    pub fn of(&self, block: usize) -> (Span<u32>, Span<u32>) {
        self.blocks[block]
    }
}

/// The blocks of a rank: consecutive, and nearly as many bytes as others have.
fn home(graph: &Catalogue, rank: usize, ranks: usize) -> Range<usize> {
    let all: u64 = (0..graph.len()).map(|block| block_bytes(graph, block)).sum();
    // Blocks that end before the rank's part of all bytes begins are others'.
    let first = |rank: usize| {
        let bytes = (u128::from(all) * rank as u128 / ranks as u128) as u64;
        let mut sum = 0;
        let mut ends = (0..graph.len()).map(|block| {
            sum += block_bytes(graph, block);
            sum
        });
        ends.position(|end| end > bytes).unwrap_or(graph.len())
    };
    first(rank)..if rank + 1 == ranks { graph.len() } else { first(rank + 1) }
}

fn block_bytes(graph: &Catalogue, block: usize) -> u64 {
    let block = graph.block(block).block();
    span_bytes::<u32>(block.offsets.len() as u64) + span_bytes::<u32>(block.targets.len() as u64)
}

/// Where each of `blocks` lies in a home: `span` gives the elements from a byte on.
fn places(
    graph: &Catalogue,
    blocks: Range<usize>,
    span: impl Fn(u64, u64) -> Span<u32>,
) -> impl Iterator<Item = (Span<u32>, Span<u32>)> {
    blocks.scan(0, move |at, block| {
        let block = graph.block(block).block();
        let (offsets, targets) = (block.offsets.len() as u64, block.targets.len() as u64);
        let start = *at;
        *at += span_bytes::<u32>(offsets) + span_bytes::<u32>(targets);
        Some((span(start, offsets), span(start + span_bytes::<u32>(offsets), targets)))
    })
}

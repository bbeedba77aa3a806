//! Division of the adjacency rows among GPUs that search together, if no GPU's memory can store all rows.
//!
//! Each GPU stores a range of consecutive whole rows of each half (smaller and larger neighbours). All ranges have
//! about the same number of entries. Kernels read other rows from the memory of the other GPUs (`half_of` in
//! `kernels/bfs.cuh`).

use super::kernel_structs::{MOST_GPUS, SpreadRows};
use crate::graph::block_store::BlockStore;
use std::ops::Range;

/// Division of one half of the adjacency rows into parts: a range of consecutive rows for each GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowParts {
    /// The first row of each part.
    first: Vec<u32>,
    /// Number of row entries before each part, followed by the total number of entries.
    before: Vec<u64>,
}

impl RowParts {
    /// Divides the rows of a half among `gpus` GPUs. All ranks get the same division.
    pub fn of(half: &BlockStore, gpus: usize) -> RowParts {
        let entries = half.edges();
        let (mut first, mut before) = (vec![0], vec![0]);
        let (mut block, mut passed) = (0, 0);
        for gpu in 1..gpus as u64 {
            let wanted = (u128::from(entries) * u128::from(gpu) / gpus as u128) as u64;
            while block < half.len() && passed + half.size(block).entries < wanted {
                passed += half.size(block).entries;
                block += 1;
            }
            if block == half.len() {
                // The earlier parts contain all entries, so this part is empty.
                first.push(half.layout.rows() as u32);
                before.push(entries);
                continue;
            }
            let rows = half.block(block);
            let local = rows.offsets.partition_point(|&offset| passed + u64::from(offset) < wanted);
            first.push(rows.first_row + local as u32);
            before.push(passed + u64::from(rows.offsets[local]));
        }
        before.push(entries);
        RowParts { first, before }
    }

    /// Returns the range of row entries in the part of the GPU with index `gpu`.
    pub fn entries(&self, gpu: usize) -> Range<u64> {
        self.before[gpu]..self.before[gpu + 1]
    }

    /// Returns the number of row entries in the largest part.
    pub fn most(&self) -> u64 {
        self.before.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
    }

    /// Returns the parts in the format that kernels read. `entries` contains a base address for each GPU. If a GPU
    /// stores entry `i` of the half, the entry lies `i` entries after this GPU's base. The base itself may lie outside
    /// the GPU's memory.
    pub fn spread(&self, entries: &[u64]) -> SpreadRows {
        let mut spread = SpreadRows { entries: [0; MOST_GPUS], first: [u32::MAX; MOST_GPUS] };
        spread.entries[..entries.len()].copy_from_slice(entries);
        spread.first[..self.first.len()].copy_from_slice(&self.first);
        spread
    }
}

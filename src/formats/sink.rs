//! Collects the edges that a parser finds into batches for a visitor, and counts them.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::formats::bytes::tokens::excerpt;
use crate::formats::weights::{Mistake, NONE_LACKING, Weight};
use crate::formats::{Edges, Fault, FindNames, NameBatch, Stop, Visitor, WeightType, Weights};

/// Number of edges in a batch of a text format. A batch occupies 64 KiB with 64-bit ids or 32 KiB with 32-bit ids, so
/// it stays in the L2 cache.
pub(crate) const BATCH: usize = 4096;

/// Size in bytes of the edge buffers of one [`Sink`].
pub(crate) const BYTES: u64 = (BATCH * (16 + 8)) as u64;

/// Size in bytes of the additional buffer of a [`Sink`] that reads weights.
pub(crate) const WEIGHT_BYTES: u64 = (BATCH * 8) as u64;

/// Buffer that passes the edges of one thread to its visitor in batches.
pub(crate) struct Sink<'v> {
    pub visitor: &'v mut dyn Visitor,
    wide: Vec<[u64; 2]>,
    narrow: Vec<[u32; 2]>,
    /// How the scan treats weights. If it reads them, `weights` contains the weights of the buffered edges.
    pub reading: Weights,
    weights: Vec<u32>,
    counted: EdgeCounts,
    /// The error for the first integer weight that f32 can't represent exactly. It matters only if the weights turn
    /// out to be f32, which is known after the whole pass.
    rounded: Option<Stop>,
    names: NameBatch,
    /// The dense ids of a batch of string ids.
    numbers: Vec<u32>,
    /// The dictionary of string ids; `None` in a pass that passes strings to the visitor.
    numbering: Option<Arc<dyn FindNames>>,
}

/// Counts of the edges that were passed to the visitor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EdgeCounts {
    pub edges: u64,
    /// Number of edges that have a weight.
    pub weighted: u64,
    /// The narrowest weight type that can represent all weights so far.
    pub weights: Option<WeightType>,
    /// Sum of the signed hashes ([`signed`]) of all entries of undirected adjacency lists. It is 0 if each edge is in
    /// the lists of both ends.
    pub balance: u64,
}

impl<'v> Sink<'v> {
    pub fn new(visitor: &'v mut dyn Visitor, reading: Weights) -> Self {
        let (wide, narrow) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        let (weights, counted) = (Vec::new(), EdgeCounts::default());
        let (names, numbers) = (NameBatch::default(), Vec::new());
        Sink { visitor, wide, narrow, reading, weights, counted, rounded: None, names, numbers, numbering: None }
    }

    /// Sets the dictionary of string ids.
    pub fn with_numbering(mut self, numbering: Option<Arc<dyn FindNames>>) -> Self {
        self.numbering = numbering;
        self
    }

    /// Adds an edge with its weight. If the weight is invalid, calls `refused`, which must return the error.
    ///
    /// # Errors
    /// The error for the weight, and any error that the visitor returns.
    #[inline]
    pub fn push_weighted<E: From<Error> + Into<Stop>>(
        &mut self,
        u: u64,
        v: u64,
        weight: Weight<'_>,
        refused: impl Fn(Mistake) -> E,
    ) -> Result<(), E> {
        self.weigh(weight, refused)?;
        Ok(self.push(u, v)?)
    }

    /// Records the weight of the edge that is added next. If the weight is invalid, calls `refused`, which must return
    /// the error.
    ///
    /// # Errors
    /// The error for the weight.
    #[inline]
    fn weigh<E: Into<Stop>>(&mut self, weight: Weight<'_>, refused: impl Fn(Mistake) -> E) -> Result<(), E> {
        let (bits, found) = self.reading.take(weight).map_err(&refused)?;
        self.counted.weighted += 1;
        self.counted.weights = self.counted.weights.max(Some(found.kind()));
        match self.reading {
            Weights::Read(kind) => {
                self.weights.push(bits as u32);
                if kind.is_wide() {
                    self.weights.push((bits >> 32) as u32);
                }
            }
            Weights::Find if found.is_rounded() => {
                self.rounded.get_or_insert_with(|| refused(Mistake::Rounded).into());
            }
            Weights::Find | Weights::Skip => {}
        }
        Ok(())
    }

    /// Adds the edge of the line that starts at offset `line` of `data`. `weight` is the byte range of the weight; it
    /// is empty if the edge has none.
    #[inline]
    pub fn push_line(
        &mut self,
        data: &[u8],
        line: usize,
        (u, v): (u64, u64),
        weight: Range<usize>,
    ) -> Result<(), Stop> {
        self.weigh_line(data, line, weight)?;
        Ok(self.push(u, v)?)
    }

    /// Records the weight of the edge that is added next, from the line that starts at offset `line` of `data`.
    /// `weight` is the byte range of the weight; it is empty if the line has none.
    #[inline]
    pub fn weigh_line(&mut self, data: &[u8], line: usize, weight: Range<usize>) -> Result<(), Stop> {
        if weight.is_empty() {
            return match self.reading {
                Weights::Read(_) => {
                    Err(Fault::new(line, "a weight for every edge", excerpt(data, line), NONE_LACKING).into())
                }
                Weights::Skip | Weights::Find => Ok(()),
            };
        }
        self.weigh(Weight::Text(&data[weight]), |mistake| mistake.fault(line, excerpt(data, line)).into())
    }

    /// Adds an edge with string ids.
    #[inline]
    pub fn push_names(&mut self, u: &[u8], v: &[u8]) -> Result<()> {
        self.names.push(u);
        self.names.push(v);
        if self.names.is_full() { self.flush_names() } else { Ok(()) }
    }

    /// Passes the buffered string ids to the visitor, translated to dense ids if there is a dictionary.
    fn flush_names(&mut self) -> Result<()> {
        self.counted.edges += self.names.len() as u64 / 2;
        let result = match &self.numbering {
            None => self.visitor.visit_names(&self.names),
            Some(numbering) => {
                numbering.find(&self.names, &mut self.numbers)?;
                self.narrow.clear();
                self.narrow.extend(self.numbers.chunks_exact(2).map(|ends| [ends[0], ends[1]]));
                self.visitor.visit(Edges::Narrow(&self.narrow), &self.weights)
            }
        };
        self.names.clear();
        self.weights.clear();
        result
    }

    /// Returns and clears the error for the first integer weight since the last call that f32 can't represent exactly;
    /// `None` if there was none.
    pub fn take_rounded(&mut self) -> Option<Stop> {
        self.rounded.take()
    }

    /// Adds the hash of neighbour `v` in the adjacency list of `u` to the balance, which is 0 in the end if each edge
    /// is in the lists of both ends.
    #[inline]
    pub fn list(&mut self, u: u64, v: u64) {
        self.counted.balance = self.counted.balance.wrapping_add(signed(u, v));
    }

    /// Adds an edge to the current batch. Passes the batch to the visitor when it is full.
    #[inline]
    pub fn push(&mut self, u: u64, v: u64) -> Result<()> {
        self.wide.push([u, v]);
        if self.wide.len() == BATCH { self.flush() } else { Ok(()) }
    }

    /// Passes the buffered edges to the visitor, as 32-bit pairs if all ids fit.
    pub fn flush(&mut self) -> Result<()> {
        if self.names.len() > 0 {
            return self.flush_names();
        }
        if self.wide.is_empty() {
            return Ok(());
        }
        self.counted.edges += self.wide.len() as u64;
        let words = if let Weights::Read(kind) = self.reading { kind.words() } else { 0 };
        if self.weights.len() != words * self.wide.len() {
            return Err(Error::internal("hand over weights", "some edges have none"));
        }
        let all = self.wide.iter().fold(0, |all, [u, v]| all | u | v);
        let result = if all <= u64::from(u32::MAX) {
            self.narrow.clear();
            self.narrow.extend(self.wide.iter().map(|[u, v]| [*u as u32, *v as u32]));
            self.visitor.visit(Edges::Narrow(&self.narrow), &self.weights)
        } else {
            self.visitor.visit(Edges::Wide(&self.wide), &self.weights)
        };
        self.wide.clear();
        self.weights.clear();
        result
    }

    /// Passes a batch of edges without weights to the visitor, without copying the batch.
    pub fn batch(&mut self, edges: Edges<'_>) -> Result<()> {
        self.counted.edges += edges.len() as u64;
        self.visitor.visit(edges, &[])
    }

    /// Calls `unpack(pairs)`, which must fill `pairs` with a batch of `edges` edges (at most [`BATCH`]), and passes the
    /// batch to the visitor. If `unpack` returns false, passes nothing to the visitor and returns false. `weights`
    /// contains the weights of these edges, and their narrowest type as [`Weights::take_floats`] returns it.
    pub fn fill(
        &mut self,
        edges: usize,
        weights: Option<(&[u32], WeightType)>,
        unpack: impl FnOnce(&mut [[u32; 2]]) -> bool,
    ) -> Result<bool> {
        // First pass on the edges that were added one by one.
        self.flush()?;
        self.narrow.resize(edges, [0; 2]);
        if !unpack(&mut self.narrow) {
            return Ok(false);
        }
        self.counted.edges += edges as u64;
        let mut read: &[u32] = &[];
        if let Some((weights, found)) = weights {
            self.counted.weighted += edges as u64;
            self.counted.weights = self.counted.weights.max(Some(found));
            read = if self.reading.is_read() { weights } else { read };
        }
        self.visitor.visit(Edges::Narrow(&self.narrow), read)?;
        Ok(true)
    }

    /// Returns and resets the counts of edges passed to the visitor.
    pub fn take_count(&mut self) -> EdgeCounts {
        std::mem::take(&mut self.counted)
    }
}

/// Returns the signed hash of an edge that is listed as neighbour `v` of `u`. The hash for neighbour `u` of `v` has the
/// opposite sign. The hash of a self-loop is 0.
#[inline]
pub(crate) fn signed(u: u64, v: u64) -> u64 {
    // Combining both ends is injective for 32-bit ids, so that different edges have different hashes.
    let mut hash = (u.min(v) ^ u.max(v).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (hash ^ hash >> 29).wrapping_mul(sign(u, v))
}

/// Returns 1 if `u` is smaller, -1 if `v` is smaller, and 0 for a self-loop.
#[inline]
pub(crate) fn sign(u: u64, v: u64) -> u64 {
    u64::from(u < v).wrapping_sub(u64::from(u > v))
}

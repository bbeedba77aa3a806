//! Reads generated edges as if they came from a file.

use std::fmt::{Debug, Display};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::error::Result;
use crate::formats::{CacheUse, Edges, ScanState, ShareResult, Visitor, WeightType, Weights};

/// Generator whose edge `i` depends only on its parameters and on `i`. Its `Display` prints the parameters.
pub trait EdgeGenerator: Debug + Display + Send + Sync {
    /// Returns the number of edges that the generator generates.
    fn edges(&self) -> u64;

    /// Returns an exclusive upper bound on the ids of the generated edges.
    fn vertices(&self) -> u64;

    /// Returns true if all ids below [`Self::vertices`] are vertices, including those without an edge.
    fn declares_vertices(&self) -> bool {
        true
    }

    /// Fills `out` with the generated edges from index `first_edge` onwards; the range must be below [`Self::edges`].
    fn fill(&self, first_edge: u64, out: &mut [[u64; 2]]);

    /// Like [`Self::fill`] with 32-bit ids, for at most 2^32 vertices; higher bits are cut off.
    fn fill_narrow(&self, first_edge: u64, out: &mut [[u32; 2]]);

    /// Returns the type of the weights; `None` if the edges have no weights.
    fn weights(&self) -> Option<WeightType>;

    /// Fills `out` with the weights of the edges from index `first_edge` onwards, [`WeightType::words`] words each.
    /// Does nothing if the edges have no weights.
    fn fill_weights(&self, first_edge: u64, kind: WeightType, out: &mut [u32]);

    /// Returns a hash of the generator's parameters.
    fn identity(&self) -> u64;

    /// Returns the memory that the generator uses, in bytes.
    fn scratch_bytes(&self) -> u64;

    /// Returns the parameters with which a GPU generates the same edges; `None` if no kernel can generate them.
    fn on_gpu(&self) -> Option<KroneckerParameters> {
        None
    }
}

/// Parameters of a Kronecker graph for the kernel `make_edges` (`kernels/ingest.cu`), which declares the same struct.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KroneckerParameters {
    /// Columns of the alias table (alias method). The low 32 bits of a column are a threshold: a random 24-bit number
    /// below it selects the first outcome, any other the second. The next two bytes are the two outcomes. Each
    /// consists of four bits of the first id and four bits of the second.
    pub columns: [u64; 256],
    /// Key of the random number stream.
    pub stream: u64,
    /// Odd multipliers of the permutation of ids.
    pub multiply: [u32; 3],
    /// The constant that the permutation of ids adds.
    pub add: u32,
    /// Number of bits by which the permutation of ids shifts.
    pub shift: u32,
    /// log2 of the number of vertices, at most 32.
    pub scale: u32,
}

const _: () = assert!(size_of::<KroneckerParameters>() == 2080, "the kernels have a static_assert of the same size");

/// Number of generated edges in a batch: 128 KiB with 32-bit ids.
const BATCH: u64 = 16 << 10;

/// Size in bytes of one thread's buffers for generated edges and weights.
pub(crate) const SCRATCH: u64 = BATCH * (16 + 8);

/// Passes the generated edges of a process's share to the visitors, in chunks. `shared` is the state of a pass without
/// files.
///
/// Generated edges are not cached. If `cache` may use memory nevertheless, a GPU generates the edges in this pass, and
/// the CPU is mostly idle. Additional threads then allocate the memory ahead of time for the bins of edges.
pub(crate) fn scan(
    generator: &dyn EdgeGenerator,
    shared: &ScanState<'_>,
    cache: CacheUse<'_, '_>,
    visitors: &mut [&mut dyn Visitor],
) -> Result<ShareResult> {
    let total = generator.edges();
    let per_chunk = (shared.chunk as u64 / record(generator)).max(1);
    let queue = shared.share.begin(total.div_ceil(per_chunk));
    let edges = |end: u64| total.min(end.saturating_mul(per_chunk));
    let all_made = AtomicU64::new(0);
    let at_work = AtomicUsize::new(visitors.len());
    std::thread::scope(|scope| {
        if let CacheUse::For(cache) = cache
            && cache.has_room()
        {
            // Only half as many threads, because the threads that wait for the GPU use CPU time, too.
            for _ in 0..visitors.len().div_ceil(2) {
                shared.spawn(scope, || cache.allocate_ahead(|| at_work.load(Relaxed) == 0));
            }
        }
        for visitor in visitors {
            let is_started = shared.spawn(scope, || {
                let mut buffers = EdgeBuffers::new(generator, per_chunk, shared.weights);
                let visitor = visitor;
                while !shared.stopped() {
                    let Some(number) = queue.take().or_else(|| queue.help(|_| true)) else { break };
                    let (first, last) = (edges(number), edges(number + 1));
                    all_made.fetch_add(last - first, Relaxed);
                    let done = visitor
                        .make(first..last)
                        .and_then(|made| if made { Ok(()) } else { buffers.visit(generator, first, last, visitor) })
                        .and_then(|()| visitor.chunk_done(number))
                        .and_then(|()| shared.advance((last - first) * record(generator)));
                    if let Err(error) = done {
                        shared.fail((0, number), error);
                    }
                }
                if shared.stopped() {
                    visitor.stopped();
                }
                at_work.fetch_sub(1, Relaxed);
            });
            if !is_started {
                at_work.fetch_sub(1, Relaxed);
            }
        }
    });
    shared.check()?;
    let declared = generator.declares_vertices().then(|| generator.vertices());
    let weights = (shared.weights, generator.weights());
    Ok(ShareResult::generated(all_made.into_inner(), declared, generator.identity(), weights))
}

/// The buffers of a thread. Only one of `narrow` and `wide` is used.
struct EdgeBuffers {
    batch: usize,
    is_narrow: bool,
    narrow: Vec<[u32; 2]>,
    wide: Vec<[u64; 2]>,
    /// Type of the weights; `None` if the pass reads no weights.
    kind: Option<WeightType>,
    weights: Vec<u32>,
}

impl EdgeBuffers {
    fn new(generator: &dyn EdgeGenerator, per_chunk: u64, weights: Weights) -> EdgeBuffers {
        let (batch, is_narrow) = (BATCH.min(per_chunk) as usize, record(generator) == 8);
        let room = |used: bool| if used { batch } else { 0 };
        let kind = if let Weights::Read(kind) = weights { Some(kind) } else { None };
        let (narrow, wide) = (vec![[0; 2]; room(is_narrow)], vec![[0; 2]; room(!is_narrow)]);
        EdgeBuffers {
            batch,
            is_narrow,
            narrow,
            wide,
            kind,
            weights: vec![0; batch * kind.map_or(0, WeightType::words)],
        }
    }

    fn visit(&mut self, generator: &dyn EdgeGenerator, first: u64, last: u64, visitor: &mut dyn Visitor) -> Result<()> {
        for at in (first..last).step_by(self.batch) {
            let n = (last - at).min(self.batch as u64) as usize;
            let weights = &mut self.weights[..n * self.kind.map_or(0, WeightType::words)];
            if let Some(kind) = self.kind {
                generator.fill_weights(at, kind, weights);
            }
            let edges = if self.is_narrow {
                generator.fill_narrow(at, &mut self.narrow[..n]);
                Edges::Narrow(&self.narrow[..n])
            } else {
                generator.fill(at, &mut self.wide[..n]);
                Edges::Wide(&self.wide[..n])
            };
            visitor.visit(edges, weights)?;
        }
        Ok(())
    }
}

/// Returns the size in bytes of an edge in a binary file of the same edges: 8, or 16 if ids need more than 32 bits.
pub(crate) fn record(generator: &dyn EdgeGenerator) -> u64 {
    if generator.vertices() > 1 << 32 { 16 } else { 8 }
}

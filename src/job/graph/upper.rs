//! Builds the upper half of a graph's rows, on the GPU or on the CPU.

use crate::error::Result;
use crate::graph::{GraphWeights, Layout};
use crate::job::context::Context;
use crate::prepare::prepared::Graph;
use crate::prepare::transpose::{Destination, Transpose, TransposeMemory, TransposeShape, Transposed, gpu};
use crate::process::progress::StageProgress;

/// What to build of the upper half of a graph's rows: the graph, the missing blocks, and the destination.
pub(super) struct Upper<'a> {
    pub(super) graph: &'a Graph,
    pub(super) layout: &'a Layout,
    pub(super) wanted: &'a [bool],
    pub(super) weights: Option<GraphWeights>,
    pub(super) to: Destination<'a>,
}

impl Upper<'_> {
    /// Builds the upper half on the GPU, or on the CPU with `free` bytes of host memory. If `free` is too little,
    /// uses the smallest amount that works.
    pub(super) fn make(&self, context: &Context, free: u64, progress: &StageProgress) -> Result<Transposed> {
        let Upper { graph, layout, wanted, weights, to } = *self;
        let (lower, entries) = (&graph.block_store, graph.stored.edges);
        let (shape, bins) = TransposeShape::and_bins(layout, entries, lower.len() as u64, weights.is_some());
        // The caller may pass a fraction of the free memory, which can be too little.
        let free = free.max(shape.least()).min(context.budget.free());
        let memory = TransposeMemory::new(&shape, context.threads, free).map_err(|least| {
            context.budget.too_small(context.budget.limit() + least - free, "the upper half of rows")
        })?;
        let file = graph.degrees()?;
        let transpose = Transpose {
            lower,
            degrees: file.body_as_u32()?,
            layout,
            bins: &bins,
            wanted,
            to,
            weights,
            memory,
            budget: &context.budget,
        };
        let built = context.gpu.for_preparing().map(|mut gpu| gpu::build(&mut gpu, &transpose, progress));
        built.transpose()?.flatten().map_or_else(|| transpose.build(progress), Ok)
    }
}

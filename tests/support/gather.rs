//! A visitor that keeps all edges, for the tests of what makes and reads them.

use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{Edges, Visitor};

/// The edges seen, as 64-bit pairs in the order of the batches.
#[derive(Default)]
pub struct Gather(pub Vec<[u64; 2]>);

impl Visitor for Gather {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(pairs) => self.0.extend(pairs.iter().map(|p| p.map(u64::from))),
            Edges::Wide(pairs) => self.0.extend_from_slice(pairs),
        }
        Ok(())
    }
}

//! Compares the strategies of traversal: candidates pruned by sort and unique, and claimed by atomic operations.
//!
//!     cargo run --release --example traverse [SCALE]

use gpugraph::traverse::{self, Options, Strategy};
use gpugraph::{Context, Graph};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scale = std::env::args().nth(1).map_or(Ok(12), |scale| scale.parse())?;
    let context = Context::new()?;
    let graph = Graph::builder().kronecker(scale, 16.0, 1).build(&context)?;
    let source = graph.vertex(1)?;
    for strategy in [Strategy::SortUnique, Strategy::Atomic, Strategy::Auto] {
        let tree = traverse::search(&graph, source, &Options { strategy, validate: false }, &context)?;
        println!("{strategy:?}: {} vertices in {:.3} ms", tree.reached(), 1e3 * tree.seconds());
    }
    Ok(())
}

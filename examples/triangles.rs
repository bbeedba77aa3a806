//! Counts the triangles of a graph, and prints the vertices that are in most of them.
//!
//!     cargo run --release --example triangles [FILE]
//!
//! FILE holds edges, such as `roadNet-CA.txt.gz` of SNAP. Without it, a random graph is generated.

use gpugraph::{Context, Graph, triangles};

fn main() -> gpugraph::Result<()> {
    let context = Context::new()?;
    let builder = Graph::builder();
    let graph = match std::env::args_os().nth(1) {
        Some(file) => builder.input(file),
        None => builder.kronecker(12, 16.0, 1),
    }
    .build(&context)?;

    let clustering = triangles::clustering(&graph, &context)?;
    println!("{} triangles in {graph:?}", clustering.totals.triangles);
    println!("transitivity {:.4}, average clustering {:.4}", clustering.totals.transitivity, clustering.average);

    let mut most: Vec<(u64, u64)> = clustering.triangles.iter().collect();
    most.sort_by_key(|&(id, triangles)| (std::cmp::Reverse(triangles), id));
    for (id, triangles) in most.into_iter().take(5) {
        println!("vertex {id}: {triangles}");
    }
    Ok(())
}

//! Searches a graph breadth-first, checks the tree, and prints how many vertices each level has.
//!
//!     cargo run --release --example bfs [FILE SOURCE]

use gpugraph::{Context, Graph, bfs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new()?;
    let mut arguments = std::env::args().skip(1);
    let (graph, source) = match (arguments.next(), arguments.next()) {
        (Some(file), Some(source)) => (Graph::builder().input(file).build(&context)?, source.parse()?),
        _ => (Graph::builder().kronecker(12, 16.0, 1).build(&context)?, 1),
    };

    let tree = bfs::search(&graph, graph.vertex(source)?, &bfs::Options::default(), &context)?;
    tree.validate(&graph, &context)?;
    println!("{} of {} vertices reached from {source}", tree.reached(), graph.vertices());
    for level in 0..=tree.depth() as i32 {
        println!("level {level}: {}", tree.levels().iter().filter(|&(_, of)| of == level).count());
    }
    Ok(())
}

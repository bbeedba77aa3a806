//! Finds the bridges of a network: the links without which it falls apart.
//!
//!     cargo run --release --example dfs

use gpugraph::{Context, Graph, dfs};

fn main() -> gpugraph::Result<()> {
    let context = Context::new()?;
    // Two rings that one link joins, and a spur.
    let links = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (5, 6)];
    let graph = Graph::from_edges(links, &context)?;

    let options = dfs::Options { articulation: true, ..dfs::Options::default() };
    let tree = dfs::search(&graph, Some(graph.vertex(0)?), &options, &context)?;
    if let (Some(bridges), Some(points)) = (tree.bridges(), tree.articulation_points()) {
        for (id, _) in bridges.iter().filter(|&(_, is_bridge)| is_bridge == 1) {
            println!("bridge {} - {id}", tree.parents()[id as usize]);
        }
        let points: Vec<u64> = points.iter().filter(|&(_, is_point)| is_point == 1).map(|(id, _)| id).collect();
        println!("articulation points {points:?}");
    }
    Ok(())
}

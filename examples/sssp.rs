//! Finds shortest paths between the corners of a grid of roads, and writes all distances as NumPy and CSV files.
//!
//!     cargo run --release --example sssp [FOLDER]

use gpugraph::sssp::{self, Distances};
use gpugraph::{Context, Graph};

fn main() -> gpugraph::Result<()> {
    // Roads east and south from each crossing, some of which are slower than others.
    let side = 100u64;
    let at = |x: u64, y: u64| y * side + x;
    let crossings = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
    let roads = crossings.flat_map(|(x, y)| {
        let minutes = 1.0 + ((7 * x + 13 * y) % 10) as f32 / 4.0;
        let east = (x + 1 < side).then(|| (at(x, y), at(x + 1, y), minutes));
        let south = (y + 1 < side).then(|| (at(x, y), at(x, y + 1), minutes));
        east.into_iter().chain(south)
    });

    let context = Context::new()?;
    let graph = Graph::from_weighted_edges(roads, &context)?;
    let paths = sssp::search(&graph, graph.vertex(0)?, &sssp::Options::default(), &context)?;
    let corner = at(side - 1, side - 1);
    if let (Distances::Decimal(minutes), Some(path)) = (paths.distances(), paths.path_to(corner)) {
        println!("{} minutes over {} crossings", minutes[corner as usize], path.len());
    }
    if let Some(folder) = std::env::args_os().nth(1) {
        paths.write_npy(&folder)?;
        paths.write_csv(&folder)?;
    }
    Ok(())
}

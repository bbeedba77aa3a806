use gpugraph::{Context, Graph, bfs, sssp, triangles};

fn main() -> gpugraph::Result<()> {
    let context = Context::builder().host_memory("2GiB".parse::<gpugraph::Size>()?).threads(2).build()?;
    let t = std::time::Instant::now();
    let graph = Graph::builder().input("/work/shared/data/snap").build(&context);
    println!("{:?}", graph.err());
    let graph = Graph::builder().kronecker(14, 16.0, 1).build(&context)?;
    println!("{} vertices, {} edges {:?}", graph.vertices(), graph.edges(), t.elapsed());
    let t = std::time::Instant::now();
    let total = triangles::count(&graph, &context)?;
    println!("{total} {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let per_vertex = triangles::per_vertex(&graph, &context)?;
    println!("{} {:?}", per_vertex.iter().map(|(_, n)| u128::from(n)).sum::<u128>(), t.elapsed());
    for source in [17, 18, 17] {
        let t = std::time::Instant::now();
        let tree = bfs::search(&graph, graph.vertex(source)?, &bfs::Options::default(), &context)?;
        println!("{} {} {:?} {}", tree.reached(), tree.depth(), t.elapsed(), tree.seconds());
        let t = std::time::Instant::now();
        tree.validate(&graph, &context)?;
        println!("validated {:?}", t.elapsed());
    }
    let options =
        sssp::Options { weights: sssp::EdgeWeights::Uniform { least: 1, most: 9, seed: 1 }, ..Default::default() };
    let paths = sssp::search(&graph, graph.vertex(17)?, &options, &context)?;
    println!("{} {:?}", paths.reached(), paths.path_to(3));
    let small = Graph::from_edges([(0, 1), (1, 2), (2, 0)], &context)?;
    println!("{}", triangles::count(&small, &context)?);
    let sparse = Graph::from_edges([(1 << 40, 1), (1, 1 << 50), (1 << 50, 1 << 40)], &context)?;
    println!("{:?} {:?}", sparse.ids(), triangles::per_vertex(&sparse, &context)?.iter().collect::<Vec<_>>());
    let ranks = gpugraph::listrank::rank(vec![1, -1, 0], &Default::default(), &context)?;
    println!("{:?} {:?}", ranks.ranks().to_vec(), ranks.head());
    Ok(())
}

//! Ids, weights and seeds from 2^63 on, which TOML and NumPy's signed numbers do not have.

use gpugraph::sssp::{self, Distances, EdgeWeights};
use gpugraph::{Context, Device, Graph, betweenness, cdlp, dfs, pagerank};

const LARGE: u64 = 1 << 63;

fn context() -> Context {
    Context::builder().device(Device::Cpu).threads(1).build().expect("a context")
}

#[test]
fn large_ids_are_sources_and_on_paths() {
    let context = context();
    let graph =
        Graph::from_weighted_edges([(1, LARGE, 2u64), (LARGE, u64::MAX - 1, LARGE)], &context).expect("a graph");
    let from = |id: u64| {
        let source = graph.vertex(id).expect("a vertex");
        sssp::search(&graph, source, &sssp::Options::default(), &context).expect("paths")
    };
    assert_eq!(from(1).path_to(u64::MAX - 1), Some(vec![1, LARGE, u64::MAX - 1]));
    assert_eq!(from(LARGE).path_to(1), Some(vec![LARGE, 1]));
    assert_eq!(from(LARGE).path_to(2), None);
    let Distances::Whole(distances) = from(1).distances().clone() else { panic!("whole") };
    assert_eq!(distances.iter().collect::<Vec<_>>(), [(1, 0), (LARGE, 2), (u64::MAX - 1, LARGE + 2)]);
    let source = graph.vertex(u64::MAX - 1).expect("a vertex");
    let tree = dfs::search(&graph, Some(source), &dfs::Options::default(), &context).expect("a tree");
    assert_eq!(tree.depths().get(1), Some(2));
    let options = pagerank::Options { personalised: vec![source], ..pagerank::Options::default() };
    let ranks = pagerank::rank(&graph, &options, &context).expect("ranks");
    assert_eq!(ranks.largest()[0].0, LARGE);
}

#[test]
fn large_numbers_are_options() {
    let context = context();
    let graph = Graph::builder().kronecker(6, 4.0, u64::MAX).build(&context).expect("a graph");
    let other = Graph::builder().kronecker(6, 4.0, LARGE).build(&context).expect("a graph");
    assert_ne!((graph.edges(), graph.max_degree()), (other.edges(), other.max_degree()));
    let sources = betweenness::Sources::Drawn { roots: 3, seed: u64::MAX };
    let options = betweenness::Options { sources, ..betweenness::Options::default() };
    betweenness::centrality(&graph, &options, &context).expect("centralities");
    let weights = EdgeWeights::Uniform { least: 1, most: 9, seed: LARGE };
    let options = sssp::Options { weights, ..sssp::Options::default() };
    let source = graph.vertex(0).expect("a vertex");
    sssp::search(&graph, source, &options, &context).expect("paths");
    let long = cdlp::Options { iterations: LARGE };
    assert_eq!(cdlp::communities(&graph, &long, &context).expect_err("too many").kind(), gpugraph::ErrorKind::Usage);
}

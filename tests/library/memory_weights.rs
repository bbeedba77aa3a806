//! Weights that a program has in memory.

use std::sync::Arc;

use gpugraph::sssp::{self, Distances};
use gpugraph::{Context, Device, EdgeList, ErrorKind, Graph, Weight, WeightType, Weights};

fn context() -> Context {
    Context::builder().device(Device::Cpu).threads(1).build().expect("a context")
}

#[test]
fn a_negative_zero_in_memory_is_the_smallest_weight() {
    fn distance<W: Weight>(weights: [W; 2]) -> f64 {
        let context = context();
        let graph = Graph::from_weighted_edges(weights.map(|weight| (0, 1, weight)), &context).expect("a graph");
        let source = graph.vertex(0).expect("a vertex");
        let paths = sssp::search(&graph, source, &sssp::Options::default(), &context).expect("paths");
        match paths.distances() {
            Distances::Whole(_) => panic!("whole distances"),
            Distances::Decimal(distances) => distances[1].into(),
            Distances::Double(distances) => distances[1],
        }
    }
    assert_eq!([distance([0.5f32, -0.0]), distance([0.5, -0.0])].map(f64::to_bits), [0; 2]);
}

/// The edge 0 - 1 with the weight 0.1, or no edge.
struct Tenth(u64);

impl EdgeList for Tenth {
    fn edges(&self) -> u64 {
        self.0
    }

    fn read(&self, _: u64, out: &mut [[u64; 2]]) {
        out.fill([0, 1]);
    }

    fn weights(&self) -> Option<WeightType> {
        Some(WeightType::F64)
    }

    fn read_weights(&self, _: u64, out: &mut [u32]) {
        let bits = 0.1f64.to_bits();
        out.copy_from_slice(&[bits as u32, (bits >> 32) as u32]);
    }
}

#[test]
fn weights_in_memory_are_not_converted() {
    let context = context();
    let build = |weights| Graph::builder().edges(Arc::new(Tenth(1))).weights(weights).build(&context);
    for weights in [Weights::U32, Weights::U64, Weights::F32] {
        assert_eq!(build(weights).err().map(|error| error.kind()), Some(ErrorKind::Usage), "{weights}");
    }
    for weights in [Weights::Auto, Weights::F64] {
        let graph = build(weights).expect("a graph");
        let paths = sssp::search(&graph, graph.vertex(0).expect("a vertex"), &sssp::Options::default(), &context);
        let distances = paths.expect("paths").distances().clone();
        assert!(matches!(distances, Distances::Double(distances) if distances[..] == [0.0, 0.1]), "{weights}");
    }
    let graph = build(Weights::None).expect("a graph");
    assert!(!graph.is_weighted());
    // No job kept this graph, so the message names none.
    let paths = sssp::search(&graph, graph.vertex(0).expect("a vertex"), &sssp::Options::default(), &context);
    let error = paths.expect_err("there are no weights");
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().starts_with("[sssp] reads weights, and this graph has none"), "{error}");
}

#[test]
fn a_graph_without_edges_keeps_the_type_of_its_weights() {
    let context = context();
    let graph = Graph::builder().edges(Arc::new(Tenth(0))).vertices(2).build(&context).expect("a graph");
    assert!(graph.is_weighted());
    let source = graph.vertex(0).expect("a vertex");
    let paths = sssp::search(&graph, source, &sssp::Options::default(), &context).expect("paths");
    assert!(matches!(paths.distances(), Distances::Double(distances) if distances[..] == [0.0, f64::INFINITY]));
}

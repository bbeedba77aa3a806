//! Generators of graphs with weights: streams that never change, shapes that follow their rules, and weights in every format that holds some.

use crate::gather::Gather;
use gpugraph::internals::convert;
use gpugraph::internals::formats::{
    EdgeGenerator, Edges, FileSearch, Format, Input, Unwatched, Visitor, WeightType, Weights,
};
use gpugraph::internals::generate::{self, Generator, Shape, Ssca2, Weighted, WeightedSpec};
use std::collections::{BTreeSet, HashMap};

fn made(shape: Shape) -> Generator {
    with_weights(shape, 1, 1000)
}

fn with_weights(shape: Shape, least: u32, most: u32) -> Generator {
    Generator::Weighted(Weighted::new(WeightedSpec { shape, least, most, seed: 1 }).unwrap())
}

fn shapes() -> [Shape; 6] {
    [
        Shape::Random { vertices: 1000, edges: 7000 },
        Shape::rmat(9, 4000, Shape::QUADRANTS).unwrap(),
        Shape::Ssca2(Ssca2::of(1000)),
        Shape::Ssca2(Ssca2 { largest_clique: 60, one_way: 0.9, parallel: 1, between: 1.0, ..Ssca2::of(777) }),
        Shape::Grid { rows: 30, columns: 41 },
        Shape::Random { vertices: (1 << 33) + 1, edges: 500 },
    ]
}

fn edges(generator: &Generator) -> Vec<[u64; 2]> {
    let mut edges = vec![[u64::MAX; 2]; generator.edges() as usize];
    generator.fill(0, &mut edges);
    edges
}

fn weights(generator: &Generator) -> Vec<u32> {
    let mut weights = vec![0; generator.edges() as usize];
    generator.fill_weights(0, WeightType::U32, &mut weights);
    weights
}

/// Gathers edges with their weights.
struct Weighed(Vec<([u64; 2], u32)>);

impl Visitor for Weighed {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> gpugraph::Result<()> {
        let pairs: Vec<[u64; 2]> = match edges {
            Edges::Narrow(pairs) => pairs.iter().map(|pair| pair.map(u64::from)).collect(),
            Edges::Wide(pairs) => pairs.to_vec(),
        };
        assert_eq!(pairs.len(), weights.len());
        self.0.extend(pairs.into_iter().zip(weights.iter().copied()));
        Ok(())
    }
}

#[test]
fn any_piece_can_be_made_alone() {
    for shape in shapes() {
        let generator = made(shape);
        let (whole, all) = (edges(&generator), weights(&generator));
        assert!(whole.iter().flatten().all(|id| *id < generator.vertices()), "{generator}");
        assert!(all.iter().all(|weight| (1..=1000).contains(weight)));
        for length in [1, 7, 100] {
            for (index, piece) in whole.chunks(length).enumerate() {
                let first = index * length;
                let (mut again, mut weights) = (vec![[0; 2]; piece.len()], vec![0; piece.len()]);
                generator.fill(first as u64, &mut again);
                generator.fill_weights(first as u64, WeightType::U32, &mut weights);
                assert_eq!((&again[..], &weights[..]), (piece, &all[first..first + piece.len()]), "{generator}");
            }
        }
        if generator.vertices() <= 1 << 32 {
            let mut narrow = vec![[0; 2]; whole.len()];
            generator.fill_narrow(0, &mut narrow);
            assert!(narrow.iter().map(|edge| edge.map(u64::from)).eq(whole.iter().copied()));
        }
    }
}

/// Other edges for the same parameters would be another graph in every report: these values stay as they are.
#[test]
fn golden() {
    let first = |shape| {
        let generator = made(shape);
        format!("{:?} {:?} {}", &edges(&generator)[..3], &weights(&generator)[..3], generator.edges())
    };
    assert_eq!(shapes().map(first), GOLDEN);
}

const GOLDEN: [&str; 6] = [
    "[[393, 800], [595, 675], [329, 122]] [324, 7, 107] 7000",
    "[[418, 91], [368, 223], [13, 338]] [324, 7, 107] 4000",
    "[[275, 221], [275, 221], [275, 945]] [324, 7, 107] 11483",
    "[[275, 221], [203, 275], [275, 299]] [324, 7, 107] 15119",
    "[[0, 1], [0, 41], [1, 2]] [324, 7, 107] 2389",
    "[[3380671825, 6871521403], [5111027728, 5803146786], [2833902678, 1050685083]] [324, 7, 107] 500",
];

#[test]
fn random_has_even_ends_and_no_loops() {
    let all = edges(&made(Shape::Random { vertices: 50, edges: 50 * 49 * 40 }));
    let mut counts = HashMap::new();
    all.iter().for_each(|edge| *counts.entry(*edge).or_insert(0u32) += 1);
    assert!(all.iter().all(|[u, v]| u != v));
    assert_eq!(counts.len(), 50 * 49);
    // Mean 40, so chi squared over 2449 degrees of freedom is within 6 sigma of 2449.
    let chi: f64 = counts.values().map(|&n| (f64::from(n) - 40.0).powi(2) / 40.0).sum();
    assert!((chi - 2449.0).abs() < 6.0 * (2.0f64 * 2449.0).sqrt(), "{chi}");
}

#[test]
fn rmat_takes_quadrants_as_often_as_asked() {
    // Of one level there are four edges, whichever way ids are permuted.
    let all = edges(&made(Shape::rmat(1, 100_000, [0.45, 0.2, 0.1, 0.25]).unwrap()));
    let mut counts = [0u32; 4];
    all.iter().for_each(|&[u, v]| counts[(2 * u + v) as usize] += 1);
    let expected = if counts[0] > counts[3] { [45, 20, 10, 25] } else { [25, 10, 20, 45] };
    for (found, expected) in counts.into_iter().zip(expected) {
        assert!(found.abs_diff(expected * 1000) < 800, "{counts:?}");
    }
    assert_eq!(Shape::rmat(3, 9, [0.5, 0.5, 0.5, 0.0]).unwrap_err().exit_code(), 2);
}

#[test]
fn a_grid_is_one() {
    for (rows, columns) in [(1, 1), (1, 9), (9, 1), (2, 2), (7, 5)] {
        let mut found = edges(&made(Shape::Grid { rows, columns }));
        found.sort_unstable();
        let mut expected = Vec::new();
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let cell = row * columns + column;
            expected.extend((column + 1 < columns).then_some([cell, cell + 1]));
            expected.extend((row + 1 < rows).then_some([cell, cell + columns]));
        }
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}

/// Cliques alone: components are complete, of sizes that are uniform. With all links, one component.
#[test]
fn ssca2_has_cliques_of_uniform_sizes() {
    let parameters = Ssca2 { largest_clique: 8, one_way: 0.3, parallel: 3, between: 0.0, ..Ssca2::of(20_000) };
    let generator = made(Shape::Ssca2(parameters));
    let mut copies: HashMap<[u64; 2], u32> = HashMap::new();
    edges(&generator).into_iter().for_each(|edge| *copies.entry(edge).or_insert(0) += 1);
    // Every vertex with itself among them.
    let mut near: HashMap<u64, BTreeSet<u64>> = HashMap::new();
    for &[u, v] in copies.keys() {
        near.entry(u).or_default().extend([u, v]);
        near.entry(v).or_default().extend([u, v]);
    }
    let mut sizes = [0u32; 9];
    for members in near.values() {
        sizes[members.len()] += 1;
        assert!(members.iter().all(|v| near[v] == *members));
    }
    // A clique of each size is as likely: about 20,000 / 4.5 / 8 of each.
    for (size, vertices) in (0u32..).zip(sizes).skip(2) {
        assert!((vertices / size).abs_diff(555) < 120, "{sizes:?}");
    }
    let pairs: u32 =
        (0u32..).zip(sizes).skip(2).map(|(size, vertices)| vertices / size * (size * (size - 1) / 2)).sum();
    // Both ways in 0.7 of all pairs, one in the rest; one to three edges each way.
    let ways = copies.len() as f64 / f64::from(pairs);
    assert!((ways - 1.7).abs() < 0.02, "{ways}");
    let edges_of_a_way = generator.edges() as f64 / copies.len() as f64;
    assert!((edges_of_a_way - 2.0).abs() < 0.03, "{edges_of_a_way}");
}

/// The number of links falls by half with each doubling of the distance: 1 for 1, a half for 2, and so on, less those within a clique.
#[test]
fn ssca2_has_links_whose_number_falls_with_distance() {
    let links = |between| {
        let parameters = Ssca2 { largest_clique: 1, one_way: 0.0, parallel: 1, between, ..Ssca2::of(1 << 14) };
        made(Shape::Ssca2(parameters)).edges() as f64 / f64::from(1 << 14)
    };
    assert!((links(1.0) - 2.0).abs() < 0.03 && (links(0.5) - 1.0).abs() < 0.03 && links(0.0) == 0.0);
    assert!((9.0..12.0).contains(&{
        let generator = made(Shape::Ssca2(Ssca2 { largest_clique: 8, ..Ssca2::of(16_384) }));
        generator.edges() as f64 / 16_384.0
    }));
}

#[test]
fn weights_are_uniform() {
    let generator = with_weights(Shape::Random { vertices: 9, edges: 50_000 }, 5, 14);
    let mut counts = [0u32; 10];
    weights(&generator).iter().for_each(|weight| counts[*weight as usize - 5] += 1);
    assert!(counts.iter().all(|count| count.abs_diff(5000) < 400), "{counts:?}");
    let mut decimals = vec![0; 50_000];
    generator.fill_weights(0, WeightType::F32, &mut decimals);
    assert!(decimals.iter().zip(weights(&generator)).all(|(bits, whole)| f32::from_bits(*bits) == whole as f32));
}

#[test]
fn files_have_the_weights_and_are_the_same_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    for shape in shapes() {
        let generator = made(shape);
        let known: Vec<_> = edges(&generator).into_iter().zip(weights(&generator)).collect();
        for (format, name) in [
            (Format::Text, "a.wel"),
            (Format::Text, "a.txt.gz"),
            (Format::Mtx, "a.mtx"),
            (Format::Gr, "a.gr"),
            (Format::Graph500, "a.graph500"),
        ] {
            let path = folder.path().join(name);
            let written = [1, 3].map(|threads| {
                generate::write(generator.clone(), &path, format, threads, &Unwatched).unwrap();
                std::fs::read(&path).unwrap()
            });
            assert!(written[0] == written[1], "{generator} {name}");
            let kind = if format == Format::Graph500 { WeightType::F32 } else { WeightType::U32 };
            let input = Input::find(&[path], None, FileSearch::default()).unwrap().with_weights(Weights::Read(kind));
            let mut visitors = [Weighed(vec![])];
            let scan = input.scan(&mut visitors, &Unwatched).unwrap();
            let whole = |(edge, weight): &([u64; 2], u32)| match kind {
                WeightType::F32 => (*edge, f32::from_bits(*weight) as u32),
                _ => (*edge, *weight),
            };
            assert!(visitors[0].0.iter().map(whole).eq(known.iter().copied()), "{generator} {name}");
            assert_eq!(scan.weights, Some(kind));
        }
        // A format without weights has the edges.
        let path = folder.path().join("a.u64");
        convert::convert(&Input::generated(generator.clone()), &path, Format::U64, 2, &Unwatched).unwrap();
        let mut visitors = [Gather(vec![])];
        Input::find(&[path], None, FileSearch::default()).unwrap().scan(&mut visitors, &Unwatched).unwrap();
        assert!(visitors[0].0.iter().eq(known.iter().map(|(edge, _)| edge)), "{generator}");
    }
}

#[test]
fn a_generator_with_weights_is_an_input() {
    for shape in shapes() {
        let generator = made(shape);
        let mut known: Vec<_> = edges(&generator).into_iter().zip(weights(&generator)).collect();
        known.sort_unstable();
        let input = Input::generated(generator.clone()).with_chunk(100);
        assert!(input.may_have_weights().unwrap());
        for threads in [1, 3] {
            let mut visitors: Vec<Weighed> = (0..threads).map(|_| Weighed(vec![])).collect();
            let input = input.clone().with_weights(Weights::Read(WeightType::U32));
            let scan = input.scan(&mut visitors, &Unwatched).unwrap();
            let mut found: Vec<_> = visitors.into_iter().flat_map(|visitor| visitor.0).collect();
            found.sort_unstable();
            assert!(found == known, "{generator}");
            assert_eq!(scan.weights, Some(WeightType::U32));
        }
        let found = input.clone().with_weights(Weights::Find).scan(&mut [Gather(vec![])], &Unwatched).unwrap();
        assert_eq!(found.weights, Some(WeightType::U32));
        assert_eq!(input.scan(&mut [Gather(vec![])], &Unwatched).unwrap().weights, None);
    }
    let without = Input::generated(Generator::uniform(4, 2.0, 1).unwrap()).with_weights(Weights::Read(WeightType::U32));
    assert_eq!(without.scan(&mut [Gather(vec![])], &Unwatched).unwrap_err().exit_code(), 2);
}

#[test]
fn parameters_out_of_range_are_refused_and_others_are_other_graphs() {
    let refused =
        |shape| Weighted::new(WeightedSpec { shape, least: 1, most: 10, seed: 1 }).is_err_and(|e| e.exit_code() == 2);
    assert!(refused(Shape::Random { vertices: 1, edges: 3 }) && refused(Shape::Grid { rows: 0, columns: 3 }));
    assert!(refused(Shape::Grid { rows: 1 << 40, columns: 1 << 40 }) && refused(Shape::Ssca2(Ssca2::of(0))));
    assert!(refused(Shape::Ssca2(Ssca2 { between: f64::NAN, ..Ssca2::of(9) })));
    assert!(refused(Shape::Ssca2(Ssca2 { largest_clique: 0, ..Ssca2::of(9) })));
    let spec = WeightedSpec { shape: shapes()[0], least: 5, most: 4, seed: 1 };
    assert!(Weighted::new(spec).is_err());
    let mut all: Vec<Generator> = shapes().map(made).into();
    all.push(with_weights(shapes()[0], 1, 999));
    let identities: std::collections::HashSet<u64> = all.iter().map(EdgeGenerator::identity).collect();
    assert_eq!(identities.len(), all.len());
}

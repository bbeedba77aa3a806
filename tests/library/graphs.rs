//! The public library: graphs from files and memory, typed results, errors by kind.

use crate::support::Dice;
use gpugraph::sssp::{self, Distances, EdgeWeights};
use gpugraph::{
    Context, Device, EdgeList, ErrorKind, Graph, Job, Size, WeightType, Weights, betweenness, bfs, cdlp, components,
    cores, dfs, distances, listrank, pagerank, traverse, triangles,
};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

fn context() -> Context {
    Context::builder().device(Device::Cpu).threads(2).host_memory("1GiB".parse::<Size>().unwrap()).build().unwrap()
}

fn kind<T>(result: gpugraph::Result<T>) -> ErrorKind {
    result.err().expect("an error").kind()
}

/// Random edges, with loops and repeats, between ids below `ids`.
fn random_edges(random: &mut Dice, edges: usize, ids: u64) -> Vec<(u64, u64)> {
    (0..edges).map(|_| (random.below(ids), random.below(ids))).collect()
}

/// The neighbours of each vertex.
fn neighbours(edges: &[(u64, u64)], directed: bool) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut rows = BTreeMap::<u64, BTreeSet<u64>>::new();
    for &(u, v) in edges.iter().filter(|(u, v)| u != v) {
        rows.entry(u).or_default().insert(v);
        let back = rows.entry(v).or_default();
        if !directed {
            back.insert(u);
        }
    }
    rows
}

/// Levels from `source`, by a queue.
fn levels(rows: &BTreeMap<u64, BTreeSet<u64>>, source: u64) -> BTreeMap<u64, i32> {
    let (mut levels, mut queue) = (BTreeMap::from([(source, 0)]), VecDeque::from([source]));
    while let Some(at) = queue.pop_front() {
        for &next in rows.get(&at).into_iter().flatten() {
            if !levels.contains_key(&next) {
                levels.insert(next, levels[&at] + 1);
                queue.push_back(next);
            }
        }
    }
    levels
}

#[test]
fn results_of_graphs_in_memory_are_those_of_plain_computation() {
    let (context, mut random) = (context(), Dice(5));
    for (edges, ids) in [(0, 1), (1, 1), (40, 12), (300, 60), (900, 100)] {
        let edges = random_edges(&mut random, edges, ids);
        let graph = Graph::from_edges(edges.iter().copied(), &context).unwrap();
        let rows = neighbours(&edges, false);
        let distinct: usize = rows.values().map(BTreeSet::len).sum::<usize>() / 2;
        let loops = edges.iter().filter(|(u, v)| u == v).count() as u64;
        let end = edges.iter().map(|&(u, v)| u.max(v) + 1).max().unwrap_or(0);
        assert_eq!((graph.vertices(), graph.edges(), graph.self_loops()), (end, distinct as u64, loops));
        assert_eq!(graph.duplicates(), edges.len() as u64 - loops - distinct as u64);
        assert_eq!(graph.isolated(), end - rows.len() as u64);
        assert_eq!(graph.max_degree(), rows.values().map(BTreeSet::len).max().unwrap_or(0) as u64);

        let of = |v: u64| -> u64 {
            let row = rows.get(&v).cloned().unwrap_or_default();
            row.iter().map(|u| rows[u].intersection(&row).count() as u64).sum::<u64>() / 2
        };
        let clustering = triangles::clustering(&graph, &context).unwrap();
        let expected: Vec<u64> = (0..end).map(of).collect();
        assert_eq!(clustering.triangles[..], expected);
        assert_eq!(clustering.totals.triangles, u128::from(expected.iter().sum::<u64>() / 3));
        assert_eq!(triangles::count(&graph, &context).unwrap(), clustering.totals.triangles);
        assert!(clustering.degree.iter().all(|(v, degree)| rows.get(&v).map_or(0, BTreeSet::len) == degree as usize));

        // A merge in an order compares no more often than two rows have entries.
        let merged = triangles::comparisons(&graph, &context).unwrap();
        let orders = [merged.input_order, merged.degree_order];
        assert!(orders.iter().all(|&count| count >= merged.totals.triangles), "{merged:?}");
        assert!(orders[1] == 0 || (merged.ratio - orders[0] as f64 / orders[1] as f64).abs() < 1e-9);

        // Without direction, each edge is one in both directions.
        let directed = triangles::directed_clustering(&graph, &context).unwrap();
        assert!(
            directed.links.iter().map(|(_, links)| links).eq(clustering.triangles.iter().map(|(_, count)| 2 * count))
        );
        assert_eq!(
            (&directed.degree[..], &directed.clustering[..]),
            (&clustering.degree[..], &clustering.clustering[..])
        );
        assert_eq!((directed.totals.triangles, directed.average), (clustering.totals.triangles, clustering.average));

        let Some(source) = rows.keys().next().copied() else { continue };
        let expected = levels(&rows, source);
        let vertex = graph.vertex(source).unwrap();
        let tree = bfs::search(&graph, vertex, &bfs::Options::default(), &context).unwrap();
        let found: BTreeMap<u64, i32> = tree.levels().iter().filter(|&(_, level)| level >= 0).collect();
        assert_eq!((tree.reached(), found), (expected.len() as u64, expected.clone()));
        for (v, &level) in &expected {
            let parent = tree.parents().get(*v).unwrap() as u64;
            assert!(if *v == source {
                parent == source
            } else {
                rows[v].contains(&parent) && expected[&parent] + 1 == level
            });
        }
        tree.validate(&graph, &context).unwrap();
        let other = traverse::search(&graph, vertex, &traverse::Options::default(), &context).unwrap();
        assert_eq!((&other.levels()[..], &other.parents()[..]), (&tree.levels()[..], &tree.parents()[..]));
        let depth_first = dfs::search(&graph, Some(vertex), &dfs::Options::default(), &context).unwrap();
        assert_eq!(depth_first.reached(), tree.reached());

        // The smallest id that a search from a vertex reaches.
        let smallest = |v: u64| *levels(&rows, v).first_key_value().unwrap().0 as i64;
        let found = components::weak(&graph, &context).unwrap();
        assert_eq!(found.component()[..], (0..end).map(smallest).collect::<Vec<_>>());
        let firsts = found.component().iter().filter(|&(v, first)| v as i64 == first).count();
        assert_eq!(found.number(), firsts as u64);

        let strong = components::strong(&graph, &context).unwrap();
        assert_eq!(strong.component()[..], (0..end).map(smallest).collect::<Vec<_>>());

        let found = cdlp::communities(&graph, &cdlp::Options { iterations: 1 }, &context).unwrap();
        // Any neighbour's label is as frequent as the others, so the smallest wins.
        let mut both: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        rows.iter().flat_map(|(&u, row)| row.iter().map(move |&v| (u, v))).for_each(|(u, v)| {
            both.entry(u).or_default().push(v);
            both.entry(v).or_default().push(u);
        });
        for (v, label) in found.label().iter() {
            let own = [v];
            let row = both.get(&v).map_or(&own[..], Vec::as_slice);
            let count = |u: u64| row.iter().filter(|&&other| other == u).count();
            let most = row.iter().copied().max_by_key(|&u| (count(u), std::cmp::Reverse(u)));
            assert_eq!(most, Some(label as u64), "{v}");
        }
        let mut labels: Vec<i64> = found.label().iter().map(|(_, label)| label).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!((found.iterations(), found.number()), (1, labels.len() as u64));

        // Each vertex has at least as many neighbours of its core as it says, and no more of them come later.
        let found = cores::numbers(&graph, &context).unwrap();
        let core = |v: u64| found.core().get(v).unwrap() as usize;
        let place: BTreeMap<u64, usize> = found.order().into_iter().zip(0..).collect();
        assert_eq!(place.len() as u64, end);
        for (&v, at) in &place {
            let row: BTreeSet<u64> = both.get(&v).into_iter().flatten().copied().filter(|&u| u != v).collect();
            assert!(row.iter().filter(|&&u| core(u) >= core(v)).count() >= core(v), "{v}");
            assert!(row.iter().filter(|&u| place[u] > *at).count() <= core(v), "{v}");
        }
        assert_eq!(Some(found.degeneracy()), (0..end).map(|v| core(v) as u64).max());

        let sources = betweenness::Sources::Vertices(vec![vertex]);
        let options = betweenness::Options { sources, normalise: betweenness::Normalise::Largest };
        let found = betweenness::centrality(&graph, &options, &context).unwrap();
        let tree = bfs::search(&graph, vertex, &bfs::Options::default(), &context).unwrap();
        assert_eq!((found.sources(), found.pairs(), found.depth()), (&[source][..], tree.reached() - 1, tree.depth()));
        // Dependencies add up to the distances of all targets, less one each.
        let between: i64 = tree.levels().iter().map(|(_, level)| i64::from(level - 1).max(0)).sum();
        let sum: f64 = found.centrality().iter().map(|(_, score)| score * found.divisor()).sum();
        assert!((sum - between as f64).abs() < 1e-9 * sum.max(1.0), "{sum} {between}");
        let largest = found.centrality().iter().map(|(_, score)| score).fold(0.0, f64::max);
        assert!(largest == found.largest()[0].1 && (largest == 1.0 || found.divisor() == 1.0));

        let sources = distances::Sources::Vertices(vec![vertex]);
        let found = distances::sums(&graph, &distances::Options { sources }, &context).unwrap();
        let total = tree.levels().iter().map(|(_, level)| level.max(0) as u64).sum::<u64>();
        let of = found.of_sources()[0];
        assert_eq!((of.source, of.reached, of.total, of.eccentricity), (source, tree.reached(), total, tree.depth()));
        assert!(found.total().iter().zip(tree.levels().iter()).all(|(of, level)| of.1 == level.1.max(0) as u64));
        assert!(found.total().iter().zip(found.farthest().iter()).all(|(of, far)| of.1 == u64::from(far.1)));
        assert_eq!((found.diameter().lower, found.diameter().upper), (tree.depth(), Some(2 * tree.depth())));

        let options = pagerank::Options {
            variant: pagerank::Variant::Graphalytics,
            iterations: Some(3),
            personalised: vec![vertex],
            ..pagerank::Options::default()
        };
        let found = pagerank::rank(&graph, &options, &context).unwrap();
        let mut ranks = vec![1.0 / end as f64; end as usize];
        for _ in 0..3 {
            let mut next = vec![0.0; end as usize];
            next[source as usize] = 0.15;
            for v in 0..end {
                let row: Vec<u64> = rows.get(&v).map_or(vec![source], |row| row.iter().copied().collect());
                row.iter().for_each(|&u| next[u as usize] += 0.85 * ranks[v as usize] / row.len() as f64);
            }
            ranks = next;
        }
        assert!(found.ranks().iter().zip(&ranks).all(|((_, found), known)| (found - known).abs() < 1e-12));
        assert!((found.iterations(), found.largest()[0].0) == (3, source) && (found.sum() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn options_of_pagerank_out_of_range_are_refused() {
    let context = context();
    let graph = Graph::from_edges([(0, 1)], &context).unwrap();
    for (damping, tolerance) in [(1.0, 0.1), (f64::NAN, 0.1), (0.5, 0.0)] {
        let variant = pagerank::Variant::Gap { tolerance };
        let options = pagerank::Options { damping, variant, ..pagerank::Options::default() };
        let error = pagerank::rank(&graph, &options, &context).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    }
}

#[test]
fn shortest_paths_are_those_of_dijkstra_by_every_type_of_weights() {
    let (context, mut random) = (context(), Dice(8));
    let edges: Vec<(u64, u64, u32)> =
        random_edges(&mut random, 400, 90).into_iter().map(|(u, v)| (u, v, random.below(20) as u32)).collect();
    let mut rows = BTreeMap::<u64, Vec<(u64, u64)>>::new();
    for &(u, v, weight) in &edges {
        rows.entry(u).or_default().push((v, weight.into()));
        rows.entry(v).or_default().push((u, weight.into()));
    }
    let source = edges[0].0;
    let (mut expected, mut heap) = (BTreeMap::new(), BinaryHeap::from([(std::cmp::Reverse(0), source)]));
    while let Some((std::cmp::Reverse(distance), at)) = heap.pop() {
        if let std::collections::btree_map::Entry::Vacant(of) = expected.entry(at) {
            of.insert(distance);
            heap.extend(rows[&at].iter().map(|&(next, weight)| (std::cmp::Reverse(distance + weight), next)));
        }
    }
    let whole = Graph::from_weighted_edges(edges.iter().copied(), &context).unwrap();
    // Quarters, whose sums are exact.
    let quarters = edges.iter().map(|&(u, v, weight)| (u, v, weight as f32 / 4.0));
    let decimal = Graph::from_weighted_edges(quarters, &context).unwrap();
    let wide = edges.iter().map(|&(u, v, weight)| (u, v, u64::from(weight) << 33));
    let wide = Graph::from_weighted_edges(wide, &context).unwrap();
    let double = edges.iter().map(|&(u, v, weight)| (u, v, f64::from(weight) / 4.0));
    let double = Graph::from_weighted_edges(double, &context).unwrap();
    let scales = [(&whole, 1.0), (&decimal, 0.25), (&wide, (1u64 << 33) as f64), (&double, 0.25)];
    for (graph, scale) in scales {
        assert!(graph.is_weighted());
        let paths = sssp::search(graph, graph.vertex(source).unwrap(), &sssp::Options::default(), &context).unwrap();
        let found: BTreeMap<u64, f64> = match paths.distances() {
            Distances::Whole(of) => of.iter().filter(|&(_, d)| d != u64::MAX).map(|(v, d)| (v, d as f64)).collect(),
            Distances::Decimal(of) => of.iter().filter(|(_, d)| d.is_finite()).map(|(v, d)| (v, d.into())).collect(),
            Distances::Double(of) => of.iter().filter(|(_, d)| d.is_finite()).collect(),
        };
        assert_eq!(found, expected.iter().map(|(&v, &d)| (v, d as f64 * scale)).collect());
        assert_eq!(paths.reached(), expected.len() as u64);
        paths.validate(graph, &context).unwrap();
        let farthest = *expected.iter().max_by_key(|&(_, distance)| distance).unwrap().0;
        let path = paths.path_to(farthest).unwrap();
        assert_eq!((path[0], path[path.len() - 1]), (source, farthest));
        let least = |u: u64, v: u64| rows[&u].iter().filter(|&&(to, _)| to == v).map(|&(_, weight)| weight).min();
        assert_eq!(path.windows(2).map(|two| least(two[0], two[1]).unwrap()).sum::<u64>(), expected[&farthest]);
        let unit = sssp::Options { weights: EdgeWeights::Unit, ..sssp::Options::default() };
        let steps = sssp::search(graph, graph.vertex(source).unwrap(), &unit, &context).unwrap();
        let Distances::Whole(steps) = steps.distances() else { panic!("whole") };
        let tree = bfs::search(graph, graph.vertex(source).unwrap(), &bfs::Options::default(), &context).unwrap();
        assert!(tree.levels().iter().all(|(v, level)| steps.get(v).map(|d| d as i64 as i32) == Some(level)));
    }
    let unweighted = Graph::from_edges([(0, 1)], &context).unwrap();
    assert!(!unweighted.is_weighted());
    let vertex = unweighted.vertex(0).unwrap();
    assert_eq!(kind(sssp::search(&unweighted, vertex, &sssp::Options::default(), &context)), ErrorKind::Usage);
    assert_eq!(kind(Graph::from_weighted_edges([(0, 1, -1f32)], &context)), ErrorKind::Usage);
    assert_eq!(kind(Graph::from_weighted_edges([(0, 1, f32::NAN)], &context)), ErrorKind::Usage);
    assert_eq!(kind(Graph::from_weighted_edges([(0, 1, 0.5), (1, 2, f64::INFINITY)], &context)), ErrorKind::Usage);
    let tenths = Graph::from_weighted_edges([(0, 1, 0.1), (1, 2, 0.2)], &context).unwrap();
    let paths = sssp::search(&tenths, tenths.vertex(0).unwrap(), &sssp::Options::default(), &context).unwrap();
    assert!(matches!(paths.distances(), Distances::Double(of) if of[..] == [0.0, 0.1, 0.1 + 0.2]));
}

#[test]
fn strings_are_ids_of_files() {
    let (context, folder) = (context(), tempfile::tempdir().unwrap());
    let file = folder.path().join("follows.csv");
    std::fs::write(&file, "who,whom\nmax,ann\nann,zoe\nbob,zoe\n\"a b\",bob\n10,9\n").unwrap();
    let build = |builder: gpugraph::GraphBuilder| builder.columns(&["who", "whom"]).string_ids().build(&context);
    let graph = build(Graph::builder().input(&file)).unwrap();
    let labels = graph.labels().unwrap();
    let names = ["10", "9", "a b", "ann", "bob", "max", "zoe"];
    assert!(labels.iter().eq(names.iter().map(|name| name.as_bytes())));
    assert!(
        (0..).zip(names).all(|(id, name)| labels.find(name) == Some(id) && labels.get(id) == Some(name.as_bytes()))
    );
    assert_eq!((labels.find("nobody"), labels.get(7), labels.find("")), (None, None, None));
    let source = graph.vertex_of("max").unwrap();
    assert_eq!(source, graph.vertex(5).unwrap());
    let tree = bfs::search(&graph, source, &bfs::Options::default(), &context).unwrap();
    assert_eq!(tree.levels()[..], [-1, -1, 4, 1, 3, 0, 2]);
    tree.validate(&graph, &context).unwrap();
    let deep = dfs::search(&graph, Some(source), &dfs::Options::default(), &context).unwrap();
    assert_eq!(deep.parents()[..], [-1, -1, 4, 5, 6, 5, 3]);
    assert_eq!(kind(graph.vertex_of("nobody")), ErrorKind::Input);
    // The strings are there with the graph, and after it.
    let kept = folder.path().join("kept");
    drop(build(Graph::builder().input(&file).spill_to(&kept)).unwrap());
    let again = Graph::open(&kept, &context).unwrap();
    let labels = again.labels().unwrap();
    assert_eq!(triangles::totals(&again, &context).unwrap().triangles, 0);
    drop((graph, again));
    assert_eq!(labels.get(6), Some(&b"zoe"[..]));
    // Bytes that are no UTF-8 are ids, but name no source.
    let latin = folder.path().join("latin.csv");
    std::fs::write(&latin, b"who,whom\ncaf\xe9,tea\n").unwrap();
    let graph = build(Graph::builder().input(&latin)).unwrap();
    assert_eq!(graph.labels().unwrap().find(b"caf\xe9"), Some(0));
    let search = |id| bfs::search(&graph, graph.vertex(id).unwrap(), &bfs::Options::default(), &context);
    assert_eq!(kind(search(0)), ErrorKind::Usage);
    assert_eq!(search(1).unwrap().levels()[..], [1, 0]);
    let numbers = Graph::from_edges([(0, 1)], &context).unwrap();
    assert!(numbers.labels().is_none());
    assert_eq!(kind(numbers.vertex_of("0")), ErrorKind::Input);
}

#[test]
fn sparse_ids_are_found_and_files_give_what_memory_gives() {
    let context = context();
    let ids = [7, 1 << 40, u64::MAX - 1, 1 << 63, 12];
    let edges: Vec<(u64, u64)> =
        [(0, 1), (1, 2), (2, 0), (2, 3), (4, 4)].map(|(u, v): (usize, usize)| (ids[u], ids[v])).into();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edges.txt");
    let text: String = edges.iter().map(|(u, v)| format!("{u} {v}\n")).collect();
    std::fs::write(&file, text).unwrap();
    let from_file = Graph::builder().input(&file).build(&context).unwrap();
    let from_memory = Graph::from_edges(edges.iter().copied(), &context).unwrap();
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    for graph in [&from_file, &from_memory] {
        assert_eq!(graph.ids().as_deref(), Some(&sorted[..]));
        let per_vertex = triangles::per_vertex(graph, &context).unwrap();
        assert_eq!(sorted.iter().map(|&id| per_vertex.get(id).unwrap()).collect::<Vec<_>>(), [1, 0, 1, 0, 1]);
        assert_eq!(per_vertex.get(8), None);
        assert_eq!(kind(graph.vertex(8)), ErrorKind::Input);
        let tree = bfs::search(graph, graph.vertex(7).unwrap(), &bfs::Options::default(), &context).unwrap();
        assert_eq!(tree.parents().get(1 << 63), Some((u64::MAX - 1) as i64));
        assert_eq!(tree.levels().iter().collect::<BTreeMap<_, _>>()[&12], -1);
    }
    assert_eq!(kind(Graph::from_edges([(0, u64::MAX)], &context)), ErrorKind::Usage);
}

#[test]
fn a_graph_that_is_kept_is_found_again_and_columns_outlive_it() {
    let (context, folder) = (context(), tempfile::tempdir().unwrap());
    let kept = folder.path().join("kept");
    let build = || Graph::builder().kronecker(9, 8.0, 3).spill_to(&kept).build(&context);
    let graph = build().unwrap();
    let count = triangles::count(&graph, &context).unwrap();
    let per_vertex = triangles::per_vertex(&graph, &context).unwrap();
    assert_eq!(kind(build()), ErrorKind::Busy, "one graph at a time may use a folder");
    drop(graph);
    let manifest = std::fs::metadata(kept.join("graph")).unwrap();
    let again = build().unwrap();
    assert_eq!(std::fs::metadata(kept.join("graph")).unwrap().modified().unwrap(), manifest.modified().unwrap());
    assert_eq!(triangles::count(&again, &context).unwrap(), count);
    drop(again);
    let opened = Graph::open(&kept, &context).unwrap();
    assert_eq!(triangles::count(&opened, &context).unwrap(), count);
    drop(opened);
    std::fs::remove_dir_all(&kept).unwrap();
    assert_eq!(per_vertex.iter().map(|(_, n)| u128::from(n)).sum::<u128>(), 3 * count);
    assert_eq!(kind(Graph::open(&kept, &context)), ErrorKind::Input);
    let out = folder.path().join("out/triangles");
    per_vertex.write_npy(out.with_extension("npy")).unwrap();
    per_vertex.write_csv(out.with_extension("csv"), "triangles").unwrap();
    let text = std::fs::read_to_string(out.with_extension("csv")).unwrap();
    assert_eq!(text.lines().next(), Some("id,triangles"));
    assert_eq!(text.lines().count(), 1 + per_vertex.len());
    assert_eq!(std::fs::metadata(out.with_extension("npy")).unwrap().len(), 128 + 8 * per_vertex.len() as u64);
}

#[test]
fn temporary_graphs_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let context = Context::builder().device(Device::Cpu).temporary_folder(folder.path()).build().unwrap();
    let graph = Graph::from_edges([(0, 1)], &context).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let ranks = listrank::rank(vec![-1, 0], &listrank::Options::default(), &context).unwrap();
    drop((graph, ranks));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn lists_are_ranked_and_refused() {
    let context = context();
    let rank = |list: Vec<i64>, order| {
        let options = listrank::Options { order, ..listrank::Options::default() };
        listrank::rank(list, &options, &context)
    };
    let ranks = rank(vec![3, -1, 1, 2], listrank::Order::Successors).unwrap();
    assert_eq!((ranks.head(), &ranks.ranks()[..]), (Some(0), &[3, 0, 1, 2][..]));
    let ranks = rank(vec![3, -1, 1, 2], listrank::Order::FromHead).unwrap();
    assert_eq!(&ranks.ranks()[..], [0, 3, 2, 1]);
    assert_eq!(rank(Vec::new(), listrank::Order::FromHead).unwrap().head(), None);
    assert_eq!(kind(rank(vec![1, 0], listrank::Order::Successors)), ErrorKind::Input);
    assert_eq!(kind(rank(vec![5, -1], listrank::Order::Successors)), ErrorKind::Usage);
    assert_eq!(kind(rank(vec![-2], listrank::Order::Successors)), ErrorKind::Usage);
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let context = context();
    let file = Graph::builder().input("no such file.txt");
    assert_eq!(kind(file.clone().build(&context)), ErrorKind::Input);
    assert_eq!(kind(file.clone().vertices(5).build(&context)), ErrorKind::Usage);
    assert_eq!(kind(file.format("sparrow").build(&context)), ErrorKind::Usage);
    assert_eq!(kind(Graph::builder().build(&context)), ErrorKind::Usage);
    assert_eq!(kind(Graph::builder().kronecker(99, 1.0, 1).build(&context)), ErrorKind::Usage);
    let small = Context::builder().device(Device::Cpu).host_memory(1 << 20).build().unwrap();
    assert_eq!(kind(Graph::from_edges([(0, 1)], &small)), ErrorKind::Limit);
    let graph = Graph::from_edges([(0, 1)], &context).unwrap();
    assert_eq!(kind(triangles::count(&graph, &self::context())), ErrorKind::Usage);
    assert_eq!(kind(Context::builder().device(Device::Cpu).gpu(1).build()), ErrorKind::Usage);
    assert_eq!(kind("8 parsecs".parse::<Size>()), ErrorKind::Usage);
    let pair = || Graph::builder().edges(Arc::new(Pair { read: AtomicUsize::new(0) }));
    let of_files = [pair().string_ids(), pair().skip_lines(1), pair().format("mtx"), pair().columns(&["a", "b"])];
    for builder in of_files.into_iter().chain([Graph::builder().kronecker(5, 2.0, 1).weights(Weights::F32)]) {
        assert_eq!(kind(builder.build(&context)), ErrorKind::Usage);
    }
    assert_eq!(kind(Graph::builder().kronecker(5, f64::NAN, 1).build(&context)), ErrorKind::Usage);
    let articulation = dfs::Options { articulation: true, ..dfs::Options::default() };
    let directed = Arc::new(Pair { read: AtomicUsize::new(0) });
    let directed = Graph::builder().edges(directed).directed(true).weights(Weights::None).build(&context).unwrap();
    assert!(directed.is_directed() && !directed.is_weighted());
    assert_eq!(kind(dfs::search(&directed, None, &articulation, &context)), ErrorKind::Usage);
}

/// The edges 0 -> 1 and 1 -> 2, with weights.
struct Pair {
    read: AtomicUsize,
}

impl EdgeList for Pair {
    fn edges(&self) -> u64 {
        2
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        self.read.fetch_add(out.len(), SeqCst);
        out.iter_mut().zip(first..).for_each(|(pair, edge)| *pair = [edge, edge + 1]);
    }

    fn weights(&self) -> Option<WeightType> {
        Some(WeightType::U32)
    }

    fn read_weights(&self, _: u64, out: &mut [u32]) {
        out.fill(3);
    }
}

#[test]
fn vertices_without_edges_count_if_they_are_declared() {
    let context = context();
    let pair = || Arc::new(Pair { read: AtomicUsize::new(0) });
    let graph = Graph::builder().edges(pair()).vertices(9).directed(true).build(&context).unwrap();
    assert_eq!((graph.vertices(), graph.isolated(), graph.edges()), (9, 6, 2));
    let paths = sssp::search(&graph, graph.vertex(1).unwrap(), &sssp::Options::default(), &context).unwrap();
    let Distances::Whole(distances) = paths.distances() else { panic!("whole") };
    assert_eq!(&distances[..4], [u64::MAX, 0, 3, u64::MAX]);
    assert_eq!(kind(Graph::builder().edges(pair()).vertices(2).build(&context)), ErrorKind::Usage);
}

/// A vertex with only a self-loop is a source, as in a job; an id that no edge has is none. Rows show no difference between the two.
#[test]
fn a_vertex_with_only_a_self_loop_is_a_source() {
    let context = context();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edges.txt");
    std::fs::write(&file, "0 1\n1 2\n5 5\n").unwrap();
    let kept = folder.path().join("kept");
    let in_memory = || Graph::from_edges([(0, 1), (1, 2), (5, 5)], &context);
    let from_file = || Graph::builder().input(&file).spill_to(&kept).build(&context);
    let opened = || Graph::open(&kept, &context);
    for build in [&in_memory as &dyn Fn() -> _, &from_file, &opened] {
        let graph: Graph = build().unwrap();
        let search = |id| bfs::search(&graph, graph.vertex(id).unwrap(), &bfs::Options::default(), &context);
        assert_eq!(search(5).unwrap().reached(), 1);
        assert_eq!(kind(search(4)), ErrorKind::Input);
        assert_eq!(search(0).unwrap().reached(), 3);
    }
}

#[test]
fn threads_that_share_a_graph_take_turns() {
    let context = context();
    let graph = Graph::builder().kronecker(10, 8.0, 1).build(&context).unwrap();
    let expected = triangles::count(&graph, &context).unwrap();
    std::thread::scope(|scope| {
        for source in 1..4u64 {
            let (graph, context) = (&graph, &context);
            scope.spawn(move || {
                let Ok(vertex) = graph.vertex(source) else { return };
                let tree = bfs::search(graph, vertex, &bfs::Options::default(), context).unwrap();
                assert_eq!(tree.levels().get(source), Some(0));
                assert_eq!(triangles::count(graph, context).unwrap(), expected);
            });
        }
    });
}

#[test]
fn jobs_run_by_functions() {
    let folder = tempfile::tempdir().unwrap();
    let job = |table: &str| {
        Job::from_toml(format!("[input]\nkronecker = {{ scale = 9, edge_factor = 8, seed = 3 }}\n{table}\n"))
            .set("job.workdir", folder.path().join("job").display())
            .set("run.device", "cpu")
    };
    let counting = job("[triangle]\nper_vertex = true").build().unwrap();
    assert_eq!(kind(counting.status()), ErrorKind::Usage);
    let plan = counting.plan().unwrap();
    plan.check().unwrap();
    assert!(plan.host_memory_needed() > 0 && plan.to_json().contains("host_memory"));
    let report = counting.run().unwrap();
    let column = report.column::<u64>("triangles").unwrap();
    let total = report.triangles().unwrap().triangles;
    assert_eq!(column.iter().map(|(_, n)| u128::from(n)).sum::<u128>(), 3 * total);
    assert!(report.to_string().contains(&format!("triangles {total}")));
    assert!(counting.status().unwrap().is_finished());
    assert_eq!(kind(report.column::<u32>("triangles")), ErrorKind::Validation);
    assert_eq!(kind(report.column::<u32>("no")), ErrorKind::Io);
    assert_eq!(kind(job("[triangel]").build()), ErrorKind::Usage);
    assert_eq!(kind(Job::from_file("no such job.toml").build()), ErrorKind::Usage);
}

#[test]
fn columns_of_edges_are_numbered_from_0() {
    let folder = tempfile::tempdir().unwrap();
    for (name, edges, first_id, source) in [
        ("sparse", "9 7000000000\n7000000000 5\n5 9\n9 8\n", 0, &[5, 5, 8, 9][..]),
        ("ones", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n3 1\n", 1, &[1, 1, 2]),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, edges).unwrap();
        let job = Job::from_toml("[triangle]\nper_edge = true\n")
            .set("input.path", format!("{:?}", file.display().to_string()))
            .set("input.format", if first_id == 1 { "mtx" } else { "text" })
            .set("input.first_id", first_id)
            .set("job.workdir", folder.path().join(format!("{name}.w")).display())
            .set("run.device", "cpu");
        let report = job.build().unwrap().run().unwrap();
        let (rows, mut found): (Vec<u64>, Vec<i64>) = report.column::<i64>("triangle/source").unwrap().iter().unzip();
        found.sort_unstable();
        assert_eq!((&rows[..], &found[..]), (&[0, 1, 2, 3][..source.len()], source));
    }
}

#[test]
fn paths_are_taken_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("$HOME");
    std::fs::create_dir(&temporary).unwrap();
    let context = Context::builder().device(Device::Cpu).threads(1).temporary_folder(&temporary).build().unwrap();
    let file = folder.path().join("$HOME.txt");
    std::fs::write(&file, "0 1\n1 2\n").unwrap();
    let graph = Graph::builder().input(&file).build(&context).unwrap();
    assert_eq!((graph.edges(), std::fs::read_dir(&temporary).unwrap().count()), (2, 1));
    let kept = folder.path().join("kept $HOME");
    drop(Graph::builder().input(&file).spill_to(&kept).build(&context).unwrap());
    assert_eq!(Graph::open(&kept, &context).unwrap().edges(), 2);
    let ranks = listrank::rank(vec![1, -1], &listrank::Options::default(), &context).unwrap();
    assert_eq!(ranks.ranks()[..], [1, 0]);
    drop((graph, ranks));
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    let not_text: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff.txt");
    let error = Graph::builder().input(not_text).build(&context).unwrap_err();
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("UTF-8"), "{error}");
}

#[test]
fn the_public_interface_is_small() {
    // Of each public item a line begins so; fields, variants and functions of traits come in addition.
    let words = ["pub fn", "pub struct", "pub enum", "pub trait", "pub mod", "pub use", "pub const"];
    let count =
        |text: &str| text.lines().filter(|line| words.iter().any(|word| line.trim_start().starts_with(word))).count();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/library");
    let entries = |folder: &std::path::Path| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let (folders, mut files): (Vec<_>, Vec<_>) = entries(&folder).into_iter().partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| entries(folder)));
    let items: usize = files.iter().map(|file| count(&std::fs::read_to_string(file).unwrap())).sum();
    assert!((50..=250).contains(&items), "{items} public items");
}

#[test]
fn examples_print_what_they_promise() {
    let run = |name: &str| {
        let mut cargo = std::process::Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--offline", "--example", name]).current_dir(env!("CARGO_MANIFEST_DIR"));
        if cfg!(feature = "mpi") {
            // Without it cargo would compile the library once more.
            cargo.args(["--features", "mpi"]);
        }
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // Of the graph of scale 12, the job of the same input.
    let job = Job::from_toml("[input]\nkronecker = { scale = 12, edge_factor = 16, seed = 1 }\n[triangle]\n");
    let folder = tempfile::tempdir().unwrap();
    let job = job.set("job.workdir", folder.path().join("job").display()).set("run.device", "cpu").build().unwrap();
    let triangles = job.run().unwrap().triangles().unwrap().triangles;
    assert!(run("triangles").starts_with(&format!("{triangles} triangles in ")));
    let levels = run("bfs");
    let reached: u64 = levels.split(' ').next().unwrap().parse().unwrap();
    let by_level = levels.lines().skip(1).map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(by_level.sum::<u64>(), reached);
    assert_eq!(run("traverse").matches(&format!(": {reached} vertices")).count(), 3);
    assert_eq!(run("dfs"), "bridge 2 - 3\nbridge 5 - 6\narticulation points [2, 3, 5]\n");
    assert_eq!(run("listrank"), "[0, 7, 4, 1, 8, 5, 2, 9, 6, 3]\n");
    assert!(run("sssp").contains("minutes over "));
}

/// Edges of signed ids, of which one is negative.
struct Signed;

impl EdgeList for Signed {
    fn edges(&self) -> u64 {
        3
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        let edges = [[0, 1], [1, 2], [2, -3i64 as u64]];
        out.copy_from_slice(&edges[first as usize..][..out.len()]);
    }

    fn is_signed(&self) -> bool {
        true
    }
}

#[test]
fn a_negative_id_is_refused_with_its_place() {
    let refused = Graph::builder().edges(Arc::new(Signed)).build(&context()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Usage);
    assert!(refused.to_string().contains("edge 2") && refused.to_string().contains("-3"), "{refused}");
}

#[test]
fn columns_are_chosen_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edges.txt");
    std::fs::write(&file, "9 0 1\n9 1 2\n").unwrap();
    let graph = Graph::builder().input(&file).columns_at(&[2, 3]).build(&context()).unwrap();
    assert_eq!((graph.vertices(), graph.edges()), (3, 2));
}

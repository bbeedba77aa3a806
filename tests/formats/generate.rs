//! Generators: their streams never change, any piece of them can be made alone, and they have the shape they should.

use crate::gather::Gather;
use gpugraph::internals::formats::{EdgeGenerator, FileSearch, Format, Input, Unwatched};
use gpugraph::internals::generate::{self, Generator, Product};

fn kronecker(scale: u32, factor: f64, seed: u64) -> Generator {
    Generator::kronecker(scale, factor, seed).unwrap()
}

fn uniform(scale: u32, factor: f64, seed: u64) -> Generator {
    Generator::uniform(scale, factor, seed).unwrap()
}

/// The product of two lists of edges.
fn product(a: &[[u64; 2]], b: &[[u64; 2]]) -> gpugraph::Result<Product> {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = [("a.u64", a), ("b.u64", b)].map(|(name, edges)| {
        let path = folder.path().join(name);
        std::fs::write(&path, edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        Input::find(&[path], None, FileSearch::default()).unwrap()
    });
    Product::read(&a, &b, &Unwatched)
}

fn all(generator: &Generator) -> Vec<[u64; 2]> {
    let mut edges = vec![[0; 2]; generator.edges() as usize];
    generator.fill(0, &mut edges);
    edges
}

fn simple(edges: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut set: Vec<_> = edges.iter().filter(|[u, v]| u != v).map(|[u, v]| [*u.min(v), *u.max(v)]).collect();
    set.sort_unstable();
    set.dedup();
    set
}

/// By looking at every pair of edges that leave a vertex upwards.
fn triangles(edges: &[[u64; 2]]) -> u64 {
    let edges = simple(edges);
    let mut count = 0;
    for list in edges.chunk_by(|a, b| a[0] == b[0]) {
        for (i, [_, v]) in list.iter().enumerate() {
            count += list[i + 1..].iter().filter(|[_, w]| edges.binary_search(&[*v, *w]).is_ok()).count() as u64;
        }
    }
    count
}

/// Other edges for the same parameters would be another graph in every report: these values stay as they are.
#[test]
fn golden() {
    let first = |generator: &Generator, from: u64| {
        let mut edges = [[0; 2]; 3];
        generator.fill(from, &mut edges);
        edges
    };
    let show = |generator: &Generator, from: u64| format!("{:?}", first(generator, from));
    let found = [
        show(&kronecker(20, 16.0, 1), 0),
        show(&kronecker(22, 16.0, 1), 1 << 25),
        show(&kronecker(29, 10.0, 2), 5_000_000_000),
        show(&kronecker(40, 1.0, 3), 1 << 39),
        show(&uniform(20, 16.0, 1), 0),
        show(&uniform(36, 1.0, 1), 1 << 35),
    ];
    assert_eq!(found, GOLDEN);
    let identities = [kronecker(20, 16.0, 1), uniform(20, 16.0, 1)].map(|generator| generator.identity());
    assert_eq!(identities, IDENTITIES);
}

const GOLDEN: [&str; 6] = [
    "[[1005911, 57404], [428258, 740865], [456748, 921443]]",
    "[[3744019, 556494], [1674921, 3382888], [438205, 3738237]]",
    "[[280258170, 46227294], [222871266, 228707563], [6941153, 441048655]]",
    "[[444662797998, 597869303632], [63186290990, 513782437758], [658206601097, 938542269277]]",
    "[[397230, 665775], [771381, 978948], [799199, 1004899]]",
    "[[65390886180, 24977601192], [49663635626, 62278709404], [36696526602, 3336361233]]",
];
const IDENTITIES: [u64; 2] = [915_864_532_218_670_709, 12_389_452_823_503_132_222];

#[test]
fn any_piece_can_be_made_alone() {
    let product =
        Product::read(&Input::generated(uniform(3, 2.0, 1)), &Input::generated(kronecker(4, 3.0, 1)), &Unwatched)
            .unwrap();
    for generator in [
        kronecker(9, 3.3, 5),
        kronecker(33, 1e-7, 5),
        uniform(9, 3.3, 5),
        uniform(35, 1e-8, 5),
        Generator::Product(product),
    ] {
        let whole = all(&generator);
        assert!(whole.iter().flatten().all(|id| *id < generator.vertices()), "{generator}");
        for length in [1, 2, 7, 100] {
            for (index, piece) in whole.chunks(length).enumerate() {
                let mut again = vec![[0; 2]; piece.len()];
                generator.fill((index * length) as u64, &mut again);
                assert_eq!(again, piece, "{generator}");
            }
        }
        if generator.vertices() <= 1 << 32 {
            let mut narrow = vec![[0; 2]; whole.len()];
            generator.fill_narrow(0, &mut narrow);
            assert!(narrow.iter().map(|edge| edge.map(u64::from)).eq(whole.iter().copied()));
        }
    }
}

#[test]
fn how_many_edges() {
    assert_eq!(kronecker(20, 16.0, 1).edges(), 16 << 20);
    assert_eq!(kronecker(10, 0.3, 1).edges(), 307);
    assert_eq!(uniform(1, 5.0, 1).edges(), 10);
    assert_eq!(kronecker(4, 0.01, 1).edges(), 0);
    for bad in [f64::NAN, -1.0, 0.0, f64::INFINITY] {
        assert_eq!(Generator::kronecker(4, bad, 1).unwrap_err().exit_code(), 2);
    }
    for bad in [0, 41] {
        assert_eq!(Generator::uniform(bad, 1.0, 1).unwrap_err().exit_code(), 2);
    }
    let named = [kronecker(20, 16.0, 1), kronecker(20, 16.5, 1), kronecker(20, 16.0, 2), uniform(20, 16.0, 1)];
    let names: std::collections::HashSet<u64> = named.iter().map(|generator| generator.identity()).collect();
    assert_eq!(names.len(), 4);
}

/// Every level takes each quadrant as often as it should: seen before ids are permuted, through sorted degrees.
#[test]
fn kronecker_has_the_degrees_of_its_parameters() {
    let scale = 12;
    let generator = kronecker(scale, 256.0, 1);
    let mut degrees = vec![0u64; 1 << scale];
    for [u, _] in all(&generator) {
        degrees[u as usize] += 1;
    }
    degrees.sort_unstable_by(|a, b| b.cmp(a));
    // A vertex whose id has k ones of `scale` bits starts an edge with probability 0.76^(scale-k) * 0.24^k.
    let mut expected: Vec<f64> = (0..1u32 << scale)
        .map(|id| {
            let ones = id.count_ones() as i32;
            generator.edges() as f64 * 0.76f64.powi(scale as i32 - ones) * 0.24f64.powi(ones)
        })
        .collect();
    expected.sort_by(|a, b| b.total_cmp(a));
    for rank in [0, 1, 2, 10, 12, 50, 100, 500] {
        let (found, expected) = (degrees[rank] as f64, expected[rank]);
        assert!((found - expected).abs() < 6.0 * expected.sqrt() + 0.03 * expected, "{rank}: {found} {expected}");
    }
    // the ids of the hubs say nothing: both halves of the range hold about half of the edges' ends
    let low = all(&generator).iter().flatten().filter(|id| **id < 1 << (scale - 1)).count() as f64;
    assert!((0.2..0.8).contains(&(low / (2 * generator.edges()) as f64)));
}

#[test]
fn uniform_is_uniform() {
    let generator = uniform(8, 4096.0, 3);
    let mut counts = vec![0u64; 1 << 16];
    for [u, v] in all(&generator) {
        counts[(u << 8 | v) as usize] += 1;
    }
    // mean 16, so chi squared over 65535 degrees of freedom is within 6 sigma of 65535
    let chi: f64 = counts.iter().map(|n| (*n as f64 - 16.0).powi(2) / 16.0).sum();
    assert!((chi - 65535.0).abs() < 6.0 * (2.0f64 * 65535.0).sqrt(), "{chi}");
}

#[test]
fn triangles_of_a_product() {
    for seed in 0..8 {
        let (a, b) = (all(&uniform(4, 4.0, seed)), all(&kronecker(4, 4.0, seed)));
        let product = product(&a, &b).unwrap();
        assert_eq!(product.edges(), 2 * (simple(&a).len() * simple(&b).len()) as u64);
        let edges = all(&Generator::Product(product));
        assert_eq!(simple(&edges).len(), edges.len(), "edges of a product are simple");
        assert_eq!(triangles(&edges), 6 * triangles(&a) * triangles(&b));
        // by definition: adjacent where both halves are
        let n = b.iter().flatten().max().unwrap() + 1;
        let adjacent =
            |edges: &[[u64; 2]], u: u64, v: u64| u != v && edges.iter().any(|e| *e == [u, v] || *e == [v, u]);
        let set = simple(&edges);
        for u in 0..16 * n {
            for v in u + 1..16 * n {
                let want = adjacent(&a, u / n, v / n) && adjacent(&b, u % n, v % n);
                assert_eq!(set.binary_search(&[u, v]).is_ok(), want, "{u} {v}");
            }
        }
    }
    let empty = Generator::Product(product(&[], &[[1, 2]]).unwrap());
    assert_eq!((empty.edges(), empty.vertices()), (0, 0));
    assert!(product(&[[0, 1 << 40]], &[[0, 1 << 40]]).is_err());
}

#[test]
fn a_generator_is_an_input() {
    for generator in [kronecker(8, 9.5, 1), uniform(33, 1e-7, 1), uniform(5, 0.01, 1)] {
        let mut want = all(&generator);
        want.sort_unstable();
        let input = Input::generated(generator.clone()).with_chunk(100);
        assert_eq!(input.identity().unwrap(), generator.identity());
        assert_eq!(input.estimate_edges().unwrap(), generator.edges());
        for threads in [1, 2, 7] {
            let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather(vec![])).collect();
            let scan = input.scan(&mut visitors, &Unwatched).unwrap();
            let mut found: Vec<_> = visitors.into_iter().flat_map(|v| v.0).collect();
            found.sort_unstable();
            assert_eq!(found, want);
            assert_eq!((scan.edges, scan.declared_vertices), (generator.edges(), Some(generator.vertices())));
        }
    }
}

#[test]
fn files_are_the_same_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let product =
        Product::read(&Input::generated(uniform(6, 3.0, 1)), &Input::generated(kronecker(6, 3.0, 1)), &Unwatched)
            .unwrap();
    for generator in [kronecker(14, 20.0, 1), uniform(33, 3e-5, 2), Generator::Product(product)] {
        for (format, name) in [
            (Format::U32, "a.u32"),
            (Format::U64, "a.u64"),
            (Format::Text, "a.txt"),
            (Format::Text, "a.txt.gz"),
            (Format::Graph500, "a.graph500.zst"),
            (Format::Gr, "a.gr"),
        ] {
            let path = folder.path().join(name);
            if generator.vertices() > 1 << 32 && format == Format::U32 {
                assert_eq!(
                    generate::write(generator.clone(), &path, format, 2, &Unwatched).unwrap_err().exit_code(),
                    3
                );
                continue;
            }
            let mut written = [1, 2, 7].map(|threads| {
                let done = generate::write(generator.clone(), &path, format, threads, &Unwatched).unwrap();
                assert_eq!(done.written, generator.edges());
                let bytes = std::fs::read(&path).unwrap();
                assert_eq!(done.bytes, bytes.len() as u64);
                bytes
            });
            written.sort();
            assert_eq!(written[0], written[2], "{generator} {name}");
            let mut visitors = [Gather(vec![])];
            Input::find(&[path], None, FileSearch::default()).unwrap().scan(&mut visitors, &Unwatched).unwrap();
            assert_eq!(visitors[0].0, all(&generator), "in order, as one thread reads one file");
        }
    }
}

/// The product of the issue: 6 t(A) t(B) triangles from the edges of two known graphs.
#[test]
fn a_product_of_known_graphs() {
    let Some(folder) = crate::support::reference_graphs() else { return };
    let open = |name: &str| Input::find(&[folder.join("snap").join(name)], None, FileSearch::default()).unwrap();
    let product = Product::read(&open("email-Eu-core.txt.gz"), &open("ca-AstroPh.txt.gz"), &Unwatched).unwrap();
    assert_eq!(product.edges(), 2 * 16_064 * 198_050);
    assert!(product.vertices() < 1 << 32);
    let last = product.edges() - 2;
    let generator = Generator::Product(product);
    let mut edges = [[0; 2]; 2];
    generator.fill_narrow(last, &mut edges);
    assert!(edges.iter().flatten().all(|id| u64::from(*id) < generator.vertices()));
}

#[test]
fn what_its_disk_has_no_room_for_is_refused_before_it_fills_it() {
    let folder = tempfile::tempdir().unwrap();
    for line in
        ["kronecker --scale 40 --edge-factor 1000 -o a.u64", "list --length 1000000000000000 --kind ordered -o a.i64"]
    {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gpugraph"));
        let ran = command.arg("generate").args(line.split(' ')).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(6), "{line}: {said}");
        assert!(said.contains("out of disk: it takes") && said.contains("is free"), "{line}: {said}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{line}");
    }
}

//! Weights that are none, with their place and what to do.

use super::written::{bytes, npz};
use super::{Edge, F32, F64, Folder, U32, U64, open, scan, some};
use crate::support::Place;
use gpugraph::internals::formats::{FileSearch, Input, WeightType, Weights};

/// Returns the message of a scan that fails with `code`.
#[track_caller]
fn refused(input: Input, weights: Weights, code: u8) -> String {
    let error = scan(&input.with_weights(weights), 2).expect_err("refused");
    let text = error.to_string();
    assert_eq!(error.exit_code(), code, "{text}");
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn what_is_no_weight_is_refused_at_its_line() {
    let folder = Folder::new();
    let files = [
        ("a.txt", "0 1 1\n1 2 @\n"),
        ("a.csv", "weight,src,dst\n@,0,1\n"),
        ("a.el", "0 1 {'weight': @}\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 @\n"),
        ("a.gr", "p sp 3 1\nc x\na 1 2 @\n"),
        ("a.graph", "2 1 1\n2 @\n1 5\n"),
    ];
    for (name, text) in files {
        let line = 1 + text.split('@').next().expect("a line").matches('\n').count();
        for (bad, expected) in [
            ("-1", "weights from 0 on"),
            ("-0.5", "weights from 0 on"),
            ("nan", "finite"),
            ("inf", "finite"),
            ("1e39", "3.4028235e38"),
        ] {
            let path = folder.write(name, text.replace('@', bad));
            for weights in [Weights::Find, F32] {
                let said = refused(open(&path), weights, 3);
                assert!(said.contains(&format!("{name}:{line}: expected ")), "{said}");
                assert!(said.contains(expected) && said.contains("weights = \"none\"") && said.contains(bad), "{said}");
            }
            // Who wants none reads the edges, as ever.
            scan(&open(&path), 2).expect("edges alone");
        }
        for (bad, found) in [
            ("0.5", Some(WeightType::F32)),
            ("4294967296", Some(WeightType::U64)),
            ("1e10", Some(WeightType::U64)),
            ("18446744073709551616", None),
        ] {
            let path = folder.write(name, text.replace('@', bad));
            let said = refused(open(&path), U32, 3);
            assert!(said.contains(&format!("{name}:{line}: expected whole weights below 2^32")), "{said}");
            assert!(said.contains("weights = \"u64\""), "{said}");
            assert_eq!(scan(&open(&path).with_weights(F32), 2).expect("f32").1.weights, Some(WeightType::F32));
            assert_eq!(scan(&open(&path).with_weights(F64), 2).expect("f64").1.weights, Some(WeightType::F64));
            if let Some(kind) = found {
                assert_eq!(scan(&open(&path).with_weights(Weights::Find), 2).expect("found").1.weights, found);
                scan(&open(&path).with_weights(Weights::Read(kind)), 2).expect("as found");
                continue;
            }
            for weights in [Weights::Find, U64] {
                let said = refused(open(&path), weights, 3);
                assert!(said.contains(&format!("{name}:{line}: expected whole weights below 2^64")), "{said}");
                assert!(said.contains(bad) && said.contains("weights = \"f64\""), "{said}");
            }
        }
        // What f64 does not equal, and what is beyond it.
        for bad in ["9007199254740993", "1e309"] {
            let path = folder.write(name, text.replace('@', bad));
            let said = refused(open(&path), F64, 3);
            assert!(said.contains(&format!("{name}:{line}: expected ")) && said.contains(bad), "{said}");
        }
    }
}

#[test]
fn whole_weights_from_2_to_the_32_are_u64_beside_others_and_f32_beside_decimals() {
    let folder = Folder::new();
    let text = |decimal: bool| -> String {
        let weight = |line| match line {
            4000 | 9000 => "4294967296".to_owned(),
            5000 if decimal => "0.5".to_owned(),
            _ => (line % 7).to_string(),
        };
        (0..10_000).map(|line| format!("{} {} {}\n", line % 50, line % 49, weight(line))).collect()
    };
    for (decimal, kind) in [(false, WeightType::U64), (true, WeightType::F32)] {
        let plain = folder.write("a.txt", text(decimal));
        let packed = folder.write("a.txt.zst", zstd::encode_all(text(decimal).as_bytes(), 1).expect("packed"));
        for path in [&plain, &packed] {
            for (chunk, threads) in [(8 << 20, 1), (1000, 3), (64, 2)] {
                let input = open(path).with_weights(Weights::Find).with_chunk(chunk);
                assert_eq!(scan(&input, threads).expect("found").1.weights, Some(kind));
            }
        }
    }
    let list = |more: f64| -> Vec<Edge> { vec![(0, 1, 3.0), (1, 2, 4_294_967_296.0), (2, 0, more)] };
    for (more, kind, found) in
        [(1.0, ">f8", WeightType::U64), (0.5, ">f8", WeightType::F32), (1.0, "<f4", WeightType::F32)]
    {
        let path = folder.write("a.npz", npz(&list(more), 3, kind, "coo"));
        assert_eq!(scan(&open(&path).with_weights(Weights::Find), 1).expect("found").1.weights, Some(found), "{kind}");
    }
}

#[test]
fn convert_keeps_whole_weights_from_2_to_the_32_and_warns_of_rounded_ones() {
    let place = Place::new();
    place.write("ms.txt", "0 1 5\n1 2 1217573801456\n0 2 2\n");
    place.write("mixed.txt", "0 1 16777216\n1 2 16777217\n0 2 0.5\n");
    place.write("exact.txt", "0 1 4294967296\n1 2 16777216\n0 2 0.5\n");
    place.gpugraph(&["convert", "ms.txt", "o.txt"]).expect(0);
    assert_eq!(std::fs::read_to_string(place.path("o.txt")).expect("text"), "0 1 5\n1 2 1217573801456\n0 2 2\n");
    let asked = place.gpugraph(&["convert", "ms.txt", "o.txt", "--weights", "f32"]).expect(0).err;
    assert!(!asked.contains("rounded"), "{asked}");
    let said = place.gpugraph(&["convert", "mixed.txt", "o.txt"]).expect(0).err;
    assert!(said.contains("mixed.txt:2: ") && said.contains("16777217") && said.contains("rounded"), "{said}");
    assert!(said.matches("16777217").count() == 1 && said.contains("weights = \"f64\""), "{said}");
    let said = place.gpugraph(&["convert", "exact.txt", "o.txt"]).expect(0).err;
    assert!(!said.contains("rounded"), "{said}");
    place.gpugraph(&["convert", "mixed.txt", "o.txt", "--weights", "f64"]).expect(0);
    let text = std::fs::read_to_string(place.path("o.txt")).expect("text");
    assert_eq!(text, "0 1 16777216.0\n1 2 16777217.0\n0 2 0.5\n");
}

#[test]
fn what_is_no_weight_is_refused_at_its_byte() {
    let folder = Folder::new();
    let list = some(9000, 50, true);
    let with = |bad: f64| -> Vec<Edge> {
        let mut list = list.clone();
        list[7000].2 = bad;
        list
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        for name in ["a.graph500", "b.graph500.gz"] {
            let (edges, weights) = bytes(name, &with(bad));
            let path = folder.write(name, edges);
            folder.write(&format!("{}.weights", name.trim_end_matches(".gz")), weights.expect("weights"));
            let said = refused(open(&path), Weights::Find, 3);
            assert!(said.contains("graph500.weights at byte 28000: expected weights"), "{said}");
            scan(&open(&path), 2).expect("edges alone");
        }
        let path = folder.write("a.npz", npz(&with(bad), 50, ">f8", "coo"));
        let said = refused(open(&path), F32, 3);
        assert!(said.contains("as number 7000 of data"), "{said}");
    }
    let mut small: Vec<Edge> = list[..20].to_vec();
    (small[0], small[19]) = ((0, 1, 3.0), (1, 0, -3.0));
    let (edges, _) = bytes("a.wsg", &small);
    let path = folder.write("a.wsg", &edges);
    let said = refused(open(&path), U32, 3);
    let byte = edges.windows(4).position(|word| word == (-3i32).to_le_bytes()).expect("it is there");
    assert!(said.contains(&format!("a.wsg at byte {byte}: expected weights from 0 on, found -3")), "{said}");
}

#[test]
fn a_file_of_weights_has_one_for_each_edge() {
    let folder = Folder::new();
    let list = some(40_000, 50, true);
    for name in ["a.graph500", "b.graph500.gz"] {
        let (edges, weights) = bytes(name, &list);
        let (path, weights) = (folder.write(name, edges), weights.expect("weights"));
        let beside = format!("{}.weights", name.trim_end_matches(".gz"));
        for wrong in [&weights[..weights.len() - 4], &weights[..7], &[], &[weights.clone(), vec![0; 4]].concat()] {
            folder.write(&beside, wrong);
            for kind in [Weights::Find, F32] {
                let said = refused(open(&path), kind, 3);
                assert!(said.contains(&beside) && said.contains(&format!("found {} bytes", wrong.len())), "{said}");
                assert!(said.contains("weights = \"none\""), "{said}");
            }
            scan(&open(&path), 2).expect("edges alone");
        }
        std::fs::remove_file(folder.path(&beside)).expect("removed");
        folder.write(&format!("{beside}.zst"), zstd::encode_all(weights.as_slice(), 1).expect("packed"));
        let said = refused(open(&path), Weights::Find, 3);
        assert!(said.contains("unpack it"), "{said}");
    }
}

#[test]
fn edges_without_a_weight_beside_others_are_refused() {
    let folder = Folder::new();
    let text = folder.write("a.txt", "0 1 {'weight': 2}\n1 2 {}\n2 3 {'weight': 1}\n");
    let said = refused(open(&text), U32, 3);
    assert!(said.contains("a.txt:2: expected a weight for every edge"), "{said}");
    let said = refused(open(&text), Weights::Find, 3);
    assert!(said.contains("a.txt: expected a weight for every edge of the input, or for none"), "{said}");
    assert!(said.contains("1 of 3 without one"), "{said}");
    let (one, two) = (folder.write("p1.txt", "0 1 5\n"), folder.write("p2.txt", "1 2\n2 3\n"));
    let both = Input::find(&[one, two], None, FileSearch::default()).expect("parts");
    let said = refused(both.clone(), Weights::Find, 3);
    assert!(said.contains("p2.txt: ") && said.contains("2 of 2 without one"), "{said}");
    assert!(refused(both, U32, 2).contains("p2.txt: expected weights"));
}

#[test]
fn a_file_without_weights_can_not_have_them_read() {
    let folder = Folder::new();
    for (name, contents) in [
        ("a.txt", b"0 1\n".as_slice()),
        ("a.csv", b"source,target,time\n0,1,5\n"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"),
        ("a.graph", b"2 1\n2\n1\n"),
        ("a.graph", b"2 1 10\n7 2\n7 1\n"),
        ("a.u32", &[1; 16]),
        ("a.graph500", &[0; 12]),
    ] {
        let path = folder.write(name, contents);
        for weights in [U32, F32] {
            let said = refused(open(&path), weights, 2);
            assert!(said.contains(name) && said.contains("[input] weights = \"none\""), "{said}");
        }
        assert_eq!(scan(&open(&path).with_weights(Weights::Find), 1).expect(name).1.weights, None);
    }
}

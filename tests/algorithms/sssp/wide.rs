//! Weights of 64 bits against Dijkstra's algorithm, whose weights the tests make themselves: u64 and f64 by every method, beyond what 32 bits
//! hold, and from the file of a graph that was kept, damaged or only half made.

use std::fs;

use gpugraph::internals::formats::WeightType;

use super::{Checked, by_every_method, change, grid};
use crate::dijkstra::{Taken, Weighted};
use crate::support::{Dice, Place, random_edges};
use crate::{outputs, report, run};

const U64: Taken = Taken::File(WeightType::U64);
const F64: Taken = Taken::File(WeightType::F64);

/// On edges with weights in this text, of which `bits` are known.
fn checked(edges: &[[u64; 2]], kind: &str, directed: bool, weight: impl Fn(usize) -> (String, u64)) -> Checked {
    let weights: Vec<(String, u64)> = (0..edges.len()).map(weight).collect();
    let lines = edges.iter().zip(&weights).map(|([u, v], (text, _))| format!("{u} {v} {text}\n"));
    let place = Place::new();
    let path = place.write("edges.wel", lines.collect::<String>());
    let input = format!("path = '{}'\nskip_lines = 0\nweights = '{kind}'", path.display());
    let declared = edges.iter().flatten().max().map_or(0, |most| most + 1);
    let edges = edges.iter().zip(&weights).map(|(&ends, &(_, bits))| (ends, bits)).collect();
    Checked { input, place, weighted: Weighted { edges, declared }, directed }
}

fn of_f64(edges: &[[u64; 2]], directed: bool, weight: impl Fn(usize) -> f64) -> Checked {
    checked(edges, "f64", directed, |edge| (format!("{:?}", weight(edge)), weight(edge).to_bits()))
}

fn of_u64(edges: &[[u64; 2]], kind: &str, directed: bool, weight: impl Fn(usize) -> u64) -> Checked {
    checked(edges, kind, directed, |edge| (weight(edge).to_string(), weight(edge)))
}

/// Graphs of different shapes: long paths, hubs, parts without a way between them, repeats and loops.
fn shapes() -> Vec<Vec<[u64; 2]>> {
    let mut hub: Vec<[u64; 2]> = random_edges(400, 2000, 5);
    hub.extend((1..400).map(|leaf| [0, leaf]));
    hub.extend([[3, 3], [500, 501], [501, 502]]);
    let path: Vec<[u64; 2]> = (0..300).map(|v| [v, v + 1]).collect();
    vec![grid(13, 17), hub, path, random_edges(300, 2500, 9)]
}

#[test]
fn f64_by_every_method() {
    for (number, edges) in shapes().iter().enumerate() {
        for directed in [false, true] {
            let mut dice = Dice(7 + number as u64);
            let lengths: Vec<f64> = edges.iter().map(|_| dice.below(1 << 53) as f64 / (1u64 << 46) as f64).collect();
            let checked = of_f64(edges, directed, |edge| lengths[edge]);
            by_every_method(&checked, F64, &[0, 7, edges[edges.len() / 2][1]]);
            checked.verifies();
        }
        // Few different ones: sums that are equal or not by how they are rounded, and edges that add nothing.
        let few = [0.1, 0.2, 0.3, 0.0, 1e-17, 0.7];
        let checked = of_f64(edges, number % 2 == 0, |edge| few[edge * 7 % few.len()]);
        by_every_method(&checked, F64, &[0, 11]);
        checked.verifies();
    }
}

#[test]
fn the_smallest_and_the_largest_f64() {
    let (subnormal, least, most) = (f64::from_bits(1), f64::MIN_POSITIVE, f64::MAX);
    for (number, edges) in shapes().iter().enumerate() {
        let some = [subnormal, 3.0 * subnormal, least, 1e-300, 0.0, 5.0 * subnormal];
        let checked = of_f64(edges, number % 2 == 1, |edge| some[edge * 5 % some.len()]);
        by_every_method(&checked, F64, &[0, 11]);
        checked.verifies();
        // Sums beyond the largest reach nobody.
        let some = [most / 2.0, 1e300, most, 1e308, 2.5, most / 3.0];
        let checked = of_f64(edges, number % 2 == 0, |edge| some[edge * 5 % some.len()]);
        by_every_method(&checked, F64, &[0, 11]);
        checked.verifies();
        let some = [1e300, subnormal, 1.0, 1e-300, 1e17, 3.0];
        let checked = of_f64(edges, number % 2 == 1, |edge| some[edge * 5 % some.len()]);
        by_every_method(&checked, F64, &[0, 11]);
        checked.verifies();
    }
}

#[test]
fn u64_by_every_method() {
    for (number, edges) in shapes().iter().enumerate() {
        let mut dice = Dice(70 + number as u64);
        let costs: Vec<u64> = edges.iter().map(|_| dice.roll() >> (10 + dice.below(40))).collect();
        let checked = of_u64(edges, "auto", number % 2 == 1, |edge| costs[edge]);
        by_every_method(&checked, U64, &[0, 7, edges[edges.len() / 2][1]]);
        checked.verifies();
        // Small ones, as u64 because that is asked for, and equal ones.
        let checked = of_u64(edges, "u64", number % 2 == 0, |edge| [3, 0, 7, 3, 90_000][edge * 7 % 5]);
        by_every_method(&checked, U64, &[0, 11]);
        checked.verifies();
    }
}

/// A sum of 2^64 - 1 is that of who is not reached.
#[test]
fn nobody_is_reached_by_a_sum_beyond_the_largest_u64() {
    for (number, edges) in shapes().iter().enumerate() {
        let some = [u64::MAX / 2, u64::MAX / 3, u64::MAX, 1 << 63, 12, u64::MAX - 1];
        let checked = of_u64(edges, "u64", number % 2 == 0, |edge| some[edge * 5 % some.len()]);
        by_every_method(&checked, U64, &[0, 11]);
        checked.verifies();
    }
    let path: Vec<[u64; 2]> = vec![[0, 1], [1, 2], [2, 3], [0, 3], [3, 4]];
    for (weights, directed) in
        [([1 << 63, (1 << 63) - 2, 1, u64::MAX, 0], true), ([u64::MAX - 1, 1, 0, u64::MAX - 1, 0], false)]
    {
        let checked = of_u64(&path, "auto", directed, |edge| weights[edge]);
        by_every_method(&checked, U64, &[0, 2]);
        checked.verifies();
    }
}

/// Before, such weights became f32 where nobody said of what type they are.
#[test]
fn whole_weights_from_2_to_the_32_are_read_as_u64() {
    let place = Place::new();
    place.write("a.txt", "0 1 4294967296\n1 2 1\n0 2 4294967298\n2 3 16777217\n");
    place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'a.txt'\n[sssp]\nsources = [0]\nwrite = true\n");
    report(&place, &[]);
    let distances: Vec<u64> = place.npy("sssp/0/distance");
    assert_eq!(distances, [0, 4_294_967_296, 4_294_967_297, 4_311_744_514]);
    assert_eq!(place.npy::<i64>("sssp/0/parent"), [0, 0, 1, 2]);
}

/// Sorted rows go to a file where memory is short, and spilled edges too.
#[test]
fn little_memory_gives_the_same() {
    let mut edges = random_edges(60_000, 1_600_000, 3);
    edges.extend((1..60_000).step_by(3).map(|leaf| [0, leaf]));
    let mut dice = Dice(17);
    let lengths: Vec<f64> = edges.iter().map(|_| dice.below(1 << 40) as f64 / 1000.0).collect();
    let checked = of_f64(&edges, false, |edge| lengths[edge]);
    checked.job(F64, &[0, 5], "");
    let plan = checked.place.gpugraph(&["plan", "job.toml", "--json"]).expect(0).out;
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("a plan");
    assert!(plan["stages"].as_array().expect("stages").iter().any(|stage| stage["name"] == "weights"), "{plan:#}");
    report(&checked.place, &["job.keep=true"]);
    let known = outputs(&checked.place.workdir());
    checked.verifies();
    // Of a graph that is prepared, searches alone need memory. More and more of it: none is enough, then rows are in a file.
    let table = "[sssp]\nsources = [0, 5]\nwrite = true\nvalidate = false\n";
    let limits = "[limits]\nthreads = 2\n";
    checked.place.write("other.toml", format!("[job]\nworkdir = 'other'\n[input]\nprepared = 'work'\n{limits}{table}"));
    let other = checked.place.path("other");
    let in_a_file: Vec<bool> = (16..=96)
        .step_by(8)
        .filter_map(|mib| {
            let _ = fs::remove_dir_all(&other);
            let limit = format!("limits.host_memory={mib}MiB");
            let ran = checked.place.gpugraph(&["run", "other.toml", "--set", &limit]);
            assert!([0, 7].contains(&ran.code), "{limit}: {}", ran.err);
            (ran.code == 0).then(|| {
                assert!(outputs(&other) == known, "{limit}: {}", ran.err);
                fs::read_to_string(other.join("run.log")).expect("a log").contains("are in a file")
            })
        })
        .collect();
    assert!(in_a_file.first() == Some(&true) && in_a_file.last() == Some(&false), "{in_a_file:?}");
}

#[test]
fn a_job_that_is_killed_or_whose_list_is_damaged_goes_on() {
    let edges = random_edges(300, 2500, 9);
    let mut dice = Dice(3);
    let lengths: Vec<f64> = edges.iter().map(|_| dice.below(1 << 53) as f64 / 1e6).collect();
    let checked = of_f64(&edges, true, |edge| lengths[edge]);
    checked.holds(F64, &[0, 7], &[&["job.keep=true"]]);
    let known = outputs(&checked.place.workdir());
    for rule in ["dictionary.write=abort", "partition.begin=abort", "sssp.source=abort"] {
        let _ = fs::remove_dir_all(checked.place.workdir());
        run(&checked.place, rule, &["job.keep=true"]);
        run(&checked.place, "", &["job.keep=true"]).expect(0);
        assert!(outputs(&checked.place.workdir()) == known, "{rule}");
    }
    let list = checked.place.workdir().join("graph/weights");
    let whole = fs::read(&list).expect("a list");
    for at in [70, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 16;
        fs::write(&list, &bytes).expect("written");
        let said = checked.place.gpugraph(&["verify", "work"]);
        assert!(
            said.code == 4 && said.out.contains("graph/weights") || said.err.contains("graph/weights"),
            "{}",
            said.out
        );
        let other = "[job]\nworkdir = 'other'\n[input]\nprepared = 'work'\n[sssp]\nsources = [0, 7]\nwrite = true\n";
        checked.place.write("other.toml", other);
        checked.place.gpugraph(&["run", "other.toml"]).expect(4);
        run(&checked.place, "", &["job.keep=true", "sssp.roots=2"]).expect(0);
        assert!(fs::read(&list).expect("a list") == whole, "made again");
        checked.place.gpugraph(&["run", "other.toml"]).expect(0);
        for (name, bytes) in &known {
            let found = fs::read(checked.place.path("other/out").join(name)).expect("an output");
            assert!(found == *bytes, "{name}");
        }
        fs::remove_dir_all(checked.place.path("other")).expect("removed");
    }
}

#[test]
fn f64_distances_that_were_changed_are_noticed_by_verify() {
    let edges = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [7, 8]];
    let checked = of_f64(&edges, false, |edge| [0.1, 0.2, 0.3, 0.4, 9.5, 1.0][edge]);
    checked.job(F64, &[0], "");
    report(&checked.place, &[]);
    checked.verifies();
    let distances: Vec<f64> = checked.place.npy("sssp/0/distance");
    let three = 0.1 + 0.2 + 0.3;
    assert_eq!(distances[..5], [0.0, 0.1, 0.1 + 0.2, three, three + 0.4]);
    let column = "out/sssp/0/distance.npy";
    let (above, below) = (f64::from_bits(three.to_bits() + 1), f64::from_bits(three.to_bits() - 1));
    for (row, value) in [(3, above), (3, below), (3, f64::NAN), (3, -1.0), (4, f64::INFINITY), (7, 1.0)] {
        let before = change(&checked.place, column, row, value.to_le_bytes());
        let ran = checked.place.gpugraph(&["verify", "work"]);
        assert_eq!(ran.code, 8, "{row} {value}: {}", ran.out);
        super::put(&checked.place, column, &before);
    }
    checked.verifies();
}

#[test]
fn weights_that_f64_or_u64_can_not_hold_are_refused_with_their_line() {
    for (kind, line) in [
        ("f64", "1 2 -0.5"),
        ("f64", "1 2 nan"),
        ("f64", "1 2 inf"),
        ("f64", "1 2 1e309"),
        ("f64", "1 2 9007199254740993"),
        ("u64", "1 2 0.5"),
        ("u64", "1 2 18446744073709551616"),
        ("u64", "1 2 -1"),
        ("auto", "1 2 18446744073709551616"),
    ] {
        let place = Place::new();
        place.write("edges.wel", format!("0 1 2\n{line}\n"));
        place.write(
            "job.toml",
            format!(
                "[job]\nworkdir = 'work'\n[input]\npath = 'edges.wel'\nweights = '{kind}'\n[sssp]\nsources = [0]\n"
            ),
        );
        let ran = run(&place, "", &[]).expect(3);
        assert!(ran.err.contains("edges.wel:2"), "{kind}, {line}: {}", ran.err);
    }
}

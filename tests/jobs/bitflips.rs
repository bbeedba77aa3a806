//! Any flipped bit in any stored file is found by `verify`, and the next run gives the right answer all the same.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Dice, Place, oracle, random_edges, triangles};

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// Finished jobs with everything kept: one journals units, the next has checkpoints, columns and sparse ids, the last direction, and weights
/// beside rows by direction and beside those of all neighbours.
fn jobs() -> Vec<(Place, u64, Option<Vec<u64>>)> {
    let edges = random_edges(500, 20_000, 12);
    let (total, corners) = oracle(500, &edges);
    let keep = "[job]\nworkdir = 'work'\nkeep = true\n";
    let (plain, sparse) = (Place::new(), Place::new());
    // A table of the tests reads whole rows.
    plain.job_on(&plain.u32("edges.u32", &edges), &format!("{keep}[sums]\nupper = true\n"));
    let wide: Vec<_> = edges.iter().map(|pair| pair.map(|id| id * 0x1_0000_0003)).collect();
    sparse.job_on(&sparse.u64("edges.u64", &wide), &format!("{keep}[triangle]\nper_vertex = true\n"));
    let occurring: std::collections::BTreeSet<u64> = edges.iter().flatten().copied().collect();
    let corners = occurring.iter().map(|&id| corners[id as usize]).collect();
    let weights = Place::new();
    let line = |(i, [u, v]): (usize, &[u64; 2])| format!("{u} {v} {}.5\n", i % 7);
    let path = weights.write("edges.wel", edges.iter().enumerate().map(line).collect::<String>());
    let tables = format!("{keep}[sums]\nweights = \"file\"\n");
    weights.job(&format!("path = '{}'\ndirected = true", path.display()), &tables);
    vec![(plain, total, None), (sparse, total, Some(corners)), (weights, total, None)]
}

#[test]
fn flipped_bits_are_found_and_repaired() {
    let seed = std::process::id();
    let mut dice = Dice(seed.into());
    let mut kinds = std::collections::BTreeMap::<String, usize>::new();
    for (place, total, corners) in jobs() {
        place.report(&["--quiet"]);
        place.gpugraph(&["verify", "work"]).expect(0);
        // What is not a result or needed for one: the log, the last status, samples, the lock; units are below.
        let aside = ["lock", "lock.owner.json", "run.log", "status.json", "metrics.json", "report.html"];
        let stored: Vec<PathBuf> = files(&place.workdir())
            .into_iter()
            .filter(|path| !path.file_name().and_then(|n| n.to_str()).is_some_and(|name| aside.contains(&name)))
            .filter(|path| !path.parent().is_some_and(|folder| folder.ends_with("units")))
            .collect();
        let mut missed = Vec::new();
        for round in 0..stored.len().max(50) {
            // Small files get as many as large ones: heads, tails and sums are where mistakes hide.
            let path = &stored[round % stored.len()];
            let name = path.strip_prefix(place.workdir()).expect("inside").display().to_string();
            let Ok(mut bytes) = fs::read(path) else { panic!("{name} was not made again (seed {seed})") };
            let bit = dice.below(bytes.len() as u64 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(path, &bytes).expect("write");
            let ending = if name.ends_with(".weights") { ".weights" } else { "" };
            *kinds.entry(format!("{}{ending}", name.split('.').next().unwrap_or_default())).or_default() += 1;
            let ran = place.gpugraph(&["verify", "work"]);
            if ran.code != 4 {
                missed.push(format!("verify exits {} with bit {bit} of {name} flipped: {}", ran.code, ran.err));
            }
            let ran = place.run(&["--quiet"]);
            assert_eq!(ran.code, 0, "bit {bit} of {name} (seed {seed}): {}", ran.err);
            assert_eq!(triangles(&place.read_report()), total, "bit {bit} of {name} (seed {seed})");
            if let Some(corners) = &corners {
                assert_eq!(place.npy::<u64>("triangles"), *corners, "bit {bit} of {name} (seed {seed})");
                assert!(place.npy::<f64>("clustering").iter().all(|c| (0.0..=1.0).contains(c)), "{name}");
            }
        }
        assert!(missed.is_empty(), "seed {seed}: {missed:#?}");
        // Everything was made good.
        place.gpugraph(&["verify", "work"]).expect(0);
    }
    for kind in [
        "graph/upper",
        "graph/undirected/lower",
        "graph/undirected/degrees",
        "graph/lower.weights",
        "graph/undirected/lower.weights",
        "manifest",
        "graph/order",
        "graph/lower",
        "graph/degrees",
        "graph/ids",
        "out/triangles",
        "report",
    ] {
        assert!(kinds.contains_key(kind), "no bit of {kind} was flipped: {kinds:?}");
    }
}

/// A copy of a folder of small files.
fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        let there = to.join(path.strip_prefix(from).expect("inside"));
        fs::create_dir_all(there.parent().expect("a folder")).expect("a folder");
        fs::copy(&path, there).expect("copy");
    }
}

#[test]
fn flipped_bits_in_journals_and_checkpoints_cost_units_and_not_the_answer() {
    let seed = std::process::id();
    let mut dice = Dice(seed.into());
    for (place, total, corners) in jobs() {
        place.run_failing("unit.done=9:stop", &["--quiet"]).expect(75);
        let stopped = place.path("stopped");
        copy(&place.workdir(), &stopped);
        for round in 0..25 {
            let _ = fs::remove_dir_all(place.workdir());
            copy(&stopped, &place.workdir());
            let stored = files(&place.workdir().join("units"));
            assert!(!stored.is_empty());
            let path = &stored[round % stored.len()];
            let mut bytes = fs::read(path).expect("read");
            let bit = dice.below(bytes.len() as u64 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(path, &bytes).expect("write");
            let at = format!("bit {bit} of {} (seed {seed})", path.display());
            // In the key of the header it looks like another job's, which is no damage; a run discards it.
            let key = (16 * 8..24 * 8).contains(&bit);
            let ran = place.gpugraph(&["verify", "work"]);
            assert!(ran.code == 4 || key && ran.code == 0, "{at}: {} {}", ran.out, ran.err);
            place.run(&["--quiet"]).expect(0);
            assert_eq!(triangles(&place.read_report()), total, "{at}");
            if let Some(corners) = &corners {
                assert_eq!(place.npy::<u64>("triangles"), *corners, "{at}");
            }
        }
    }
}

//! List ranking: one answer, that of a plain walk, by every method, order, format, number of threads and ranks, and device.

use gpugraph::internals::algo::ALGORITHMS;
use serde_json::Value;
use std::fs;
use std::path::Path;

use crate::support::gpu::Gpu;
use crate::support::mpi::{Built, built, mpirun};
use crate::support::{Place, Ran, number};
use crate::{outputs, run};

/// A list, and the element at each place of it.
struct List {
    places: Vec<u64>,
    successors: Vec<i64>,
}

impl List {
    fn of(places: Vec<u64>) -> List {
        let mut successors = vec![-1; places.len()];
        places.windows(2).for_each(|pair| successors[pair[0] as usize] = pair[1] as i64);
        List { places, successors }
    }

    /// Elements in a random order.
    fn random(length: u64, seed: u64) -> List {
        let mut places: Vec<u64> = (0..length).collect();
        let mut state = seed;
        for i in (1..places.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            places.swap(i, (state >> 33) as usize % (i + 1));
        }
        List::of(places)
    }

    /// Ranks by a walk over the list.
    fn ranks(&self, from_head: bool) -> Vec<i64> {
        let mut ranks = vec![0; self.places.len()];
        let last = self.places.len() as i64 - 1;
        for (place, &element) in (0..).zip(&self.places) {
            ranks[element as usize] = if from_head { place } else { last - place };
        }
        ranks
    }

    fn checksum(&self, from_head: bool) -> u64 {
        let product = |(i, rank): (u64, i64)| (rank as u64).wrapping_mul(i % 1_000_003 + 1);
        (0..).zip(self.ranks(from_head)).map(product).fold(0, u64::wrapping_add)
    }

    fn text(&self) -> String {
        let numbers: Vec<String> = self.successors.iter().map(i64::to_string).collect();
        format!("{}\n{}\n", self.successors.len(), numbers.join("\n"))
    }

    fn i32(&self) -> Vec<u8> {
        self.successors.iter().flat_map(|&successor| (successor as i32).to_le_bytes()).collect()
    }

    fn i64(&self) -> Vec<u8> {
        self.successors.iter().flat_map(|successor| successor.to_le_bytes()).collect()
    }
}

/// Writes a job on the list in `path`.
fn job(place: &Place, path: &Path, table: &str) {
    let input = format!("[job]\nworkdir = 'work'\n[input]\npath = '{}'\n", path.display());
    place.write("job.toml", format!("{input}[listrank]\n{table}\n"));
}

#[track_caller]
fn holds(how: &str, place: &Place, list: &List, from_head: bool) {
    let report = place.read_report();
    let found = &report["results"]["listrank"];
    assert_eq!(found["length"], list.places.len(), "{how}: {report:#}");
    assert_eq!(found["head"].as_u64(), list.places.first().copied(), "{how}");
    assert_eq!(found["checksum"], list.checksum(from_head), "{how}");
    assert_eq!(report["input"]["elements"], list.places.len(), "{how}");
    rounds_are_parts_of_the_time(how, found, list.places.len());
    assert!(report["graph"].is_null() && found["method"].is_string() && found["bytes"].is_u64(), "{how}: {report:#}");
    let bytes: Vec<u8> = list.ranks(from_head).iter().flat_map(|rank| rank.to_le_bytes()).collect();
    let files = outputs(&place.workdir());
    let file = &files["rank.npy"];
    let header = String::from_utf8_lossy(&file[..128]);
    assert!(header.contains(&format!("'descr': '<i8', 'fortran_order': False, 'shape': ({},)", list.places.len())));
    assert!(file[128..] == bytes, "{how}: other ranks");
    assert_eq!(files.len(), 1, "{how}: {:?}", files.keys());
}

/// Every round is told with its elements, and all together they take no longer than ranking.
fn rounds_are_parts_of_the_time(how: &str, found: &Value, length: usize) {
    let rounds = found["rounds"].as_array().unwrap_or_else(|| panic!("{how}: no rounds"));
    let all = |key: &'static str| {
        rounds.iter().map(move |round| round[key].as_f64().unwrap_or_else(|| panic!("{how}: no {key}")))
    };
    let ranking = found["phases"]["rank"].as_f64().expect("a number");
    assert!(all("seconds").sum::<f64>() <= ranking && all("seconds").all(|time| time >= 0.0), "{how}: {found:#}");
    let of_all = all("elements").filter(|&elements| elements == length as f64).count();
    let least = match found["method"].as_str() {
        _ if length == 0 => 0,
        // Distances double from round to round; a GPU's elements jump over each other within one.
        Some("wyllie") if rounds.first().is_none_or(|round| round["step"] == "jump") => length.ilog2() as usize,
        Some("serial") => 1,
        // Bins take turns, and what an earlier run did is not told again.
        Some("contraction") => 0,
        _ => 2,
    };
    assert!(of_all >= least, "{how}: {found:#}");
    assert!(rounds.iter().all(|round| round["step"].is_string()), "{how}: {found:#}");
}

fn lists() -> Vec<List> {
    let random = [0, 1, 2, 255, 1000, 70_000].map(|length| List::random(length, length + 1));
    random.into_iter().chain([List::of((0..20_000).collect()), List::of((0..20_000).rev().collect())]).collect()
}

#[test]
fn the_oracle_knows_every_algorithm_on_lists() {
    let on_lists: Vec<_> = ALGORITHMS.iter().filter(|algorithm| algorithm.is_on_list).collect();
    assert_eq!(on_lists.iter().map(|algorithm| algorithm.name).collect::<Vec<_>>(), ["listrank"]);
}

#[test]
fn one_process_by_method_order_and_threads() {
    for list in lists() {
        let place = Place::new();
        let path = place.write("list.i32", list.i32());
        for method in ["auto", "serial", "wyllie", "ruling-set"] {
            for (order, from_head, threads) in [("successors", false, 1), ("from-head", true, 3)] {
                let how = format!("{} elements by {method}, {order}", list.places.len());
                job(&place, &path, &format!("method = '{method}'\norder = '{order}'"));
                run(&place, "", &[&format!("limits.threads={threads}")]).expect(0);
                holds(&how, &place, &list, from_head);
                let verified = place.gpugraph(&["verify", "job.toml"]).expect(0);
                assert!(verified.out.contains("listrank") && !verified.out.contains("FAILED"), "{}", verified.out);
            }
        }
    }
}

#[test]
fn every_format_and_packing() {
    let list = List::random(50_000, 5);
    let text = list.text();
    let packed = zstd::encode_all(text.as_bytes(), 3).expect("packed");
    let files: [(&str, &[u8]); 5] = [
        ("a.list", text.as_bytes()),
        ("b.txt", &text.replace('\n', "\r\n\t ").into_bytes()),
        ("c.i32", &list.i32()),
        ("d.i64", &list.i64()),
        ("e.list.zst", &packed),
    ];
    for (name, bytes) in files {
        let place = Place::new();
        job(&place, &place.write(name, bytes), "");
        run(&place, "", &[]).expect(0);
        holds(name, &place, &list, false);
    }
}

#[test]
fn ranks_of_every_number() {
    let Some(built) = built().into_iter().next() else { return };
    for list in [List::random(0, 1), List::random(1, 1), List::random(40_000, 2), List::of((0..30_000).collect())] {
        let place = Place::new();
        let path = place.write("list.i32", list.i32());
        // With shared memory, without, and with too little of it for the list but enough for messages.
        for (method, shared) in [("ruling-set", None), ("ruling-set", Some("0")), ("wyllie", None), ("serial", None)] {
            // Ranks without an element are the same, however many there are.
            for &ranks in if list.places.len() > 1 { &[2, 3][..] } else { &[3] } {
                holds_on_ranks(built, &place, &path, &list, (method, shared, ranks));
            }
        }
    }
    let place = Place::new();
    let list = List::random(700_000, 4);
    let path = place.write("list.i32", list.i32());
    holds_on_ranks(built, &place, &path, &list, ("ruling-set", Some("2097152"), 2));
}

/// Checks the ranks by a method, with bytes of shared memory or as many as there are, and by some ranks.
fn holds_on_ranks(built: &Built, place: &Place, path: &Path, list: &List, how: (&str, Option<&str>, usize)) {
    let (method, shared, ranks) = how;
    job(place, path, &format!("method = '{method}'"));
    let args = ["run", "job.toml", "--quiet", "--fresh", "--set", "run.device=cpu"];
    let mut command = mpirun(place, built, ranks, 120, &built.gpugraph, &args);
    shared.map(|bytes| command.env("GPUGRAPH_SHARED_MEMORY", bytes));
    Ran::command(&mut command).expect(0);
    assert_eq!(number(&place.read_report(), "ranks"), ranks as u64);
    holds(&format!("{} elements by {how:?}", list.places.len()), place, list, false);
}

#[test]
fn what_is_no_list_is_refused_with_an_element() {
    let good = List::random(30_000, 3);
    let (first, second, tail) = (good.places[10], good.places[11], good.places[29_999]);
    let changed = |element: u64, successor: i64| {
        let mut bad = List { places: good.places.clone(), successors: good.successors.clone() };
        bad.successors[element as usize] = successor;
        bad
    };
    let mut cycle = changed(good.places[99], good.places[200] as i64);
    cycle.successors[good.places[199] as usize] = good.places[100] as i64;
    let smallest = good.places[100..200].iter().min().expect("a cycle");
    let both = [good.places[10].min(good.places[499]), good.places[10].max(good.places[499])];
    for (bad, said) in [
        (changed(first, 30_000), format!("element {first}")),
        (changed(first, -2), format!("element {first}")),
        (changed(first, good.places[500] as i64), format!("element {} and of element {}", both[0], both[1])),
        (changed(first, -1), format!("the first is element {}", first.min(tail))),
        (changed(tail, second as i64), format!("element {tail}")),
        (changed(tail, good.places[0] as i64), "cycle".into()),
        (cycle, format!("cycle, on which element {smallest} is")),
    ] {
        let place = Place::new();
        let path = place.write("list.i32", bad.i32());
        for method in ["serial", "wyllie", "ruling-set"] {
            job(&place, &path, &format!("method = '{method}'"));
            let ran = run(&place, "", &["limits.threads=2"]).expect(3);
            assert!(ran.error().contains("list.i32") && ran.err.contains(&said), "{method}: {said}: {}", ran.err);
            assert!(outputs(&place.workdir()).is_empty(), "{method}: {said}");
        }
        // Such a list is followed by the CPU.
        if let Some(gpu) = Gpu::new().filter(|_| said.contains(&format!("element {smallest} is"))) {
            job(&gpu.place, &path, "");
            let ran = gpu.run(&[], &["run.device=gpu"]).expect(3);
            assert!(ran.err.contains(&said), "on a GPU: {said}: {}", ran.err);
        }
        let Some(built) = built().into_iter().next() else { continue };
        for shared in ["0", "999999999"] {
            // Ranks that were aborted may hold their workdir for a moment longer than mpirun runs.
            let args = ["run", "job.toml", "--quiet", "--set", &format!("job.workdir=work-{shared}")];
            let mut command = mpirun(&place, built, 2, 120, &built.gpugraph, &args);
            command.env("GPUGRAPH_SHARED_MEMORY", shared);
            let ran = Ran::command(&mut command).expect(3);
            assert!(ran.err.contains(&said), "{said} with {shared} bytes shared: {}", ran.err);
        }
    }
}

#[test]
fn a_finished_job_stays_one_and_other_lists_do_not_replace_it() {
    let (list, place) = (List::random(5000, 9), Place::new());
    let path = place.write("list.i32", list.i32());
    job(&place, &path, "");
    run(&place, "", &[]).expect(0);
    let report = std::fs::read(place.workdir().join("report.json")).expect("a report");
    let again = place.gpugraph(&["run", "job.toml"]).expect(0);
    assert!(again.err.contains("done already"), "{}", again.err);
    assert_eq!(std::fs::read(place.workdir().join("report.json")).expect("a report"), report);
    let status: Value = serde_json::from_str(&place.gpugraph(&["status", "job.toml", "--json"]).expect(0).out).unwrap();
    assert_eq!((status["state"].as_str(), status["stages"].as_array().map(Vec::len)), (Some("finished"), Some(1)));
    // Another order is another table of the same list; another list needs --fresh.
    job(&place, &path, "order = 'from-head'");
    run(&place, "", &[]).expect(0);
    holds("from the head", &place, &list, true);
    let other = place.write("other.i32", List::random(5000, 10).i32());
    job(&place, &other, "");
    run(&place, "", &[]).expect(5);
    place.gpugraph(&["run", "job.toml", "--fresh", "--quiet"]).expect(0);
    // What changes after the job is found out.
    let ranks = place.workdir().join("out/rank.npy");
    let mut bytes = std::fs::read(&ranks).expect("ranks");
    bytes.swap(128, 136);
    std::fs::write(&ranks, bytes).expect("written");
    let verified = place.gpugraph(&["verify", "job.toml"]);
    assert!(verified.code != 0 && verified.out.contains("FAILED  listrank"), "{}", verified.out);
    std::fs::write(&other, List::random(5000, 11).i32()).expect("written");
    assert_eq!(run(&place, "", &[]).code, 5);
}

#[test]
fn a_job_has_lists_or_graphs() {
    let place = Place::new();
    let path = place.write("list.i32", List::random(10, 1).i32());
    for (table, said) in [("[triangle]", "a job has one input"), ("[run]\ntrials = 0", "trials")] {
        job(&place, &path, table);
        assert!(run(&place, "", &[]).expect(2).err.contains(said));
    }
    place.write("job.toml", format!("[input]\npath = '{}'\nformat = 'i32'\n[triangle]\n", path.display()));
    assert!(run(&place, "", &[]).expect(2).err.contains("[listrank]"));
    place.write("job.toml", "[input]\nkronecker = { scale = 5 }\n[listrank]\n");
    assert!(run(&place, "", &[]).expect(2).err.contains("this job ranks a list"));
}

#[test]
fn a_gpu_has_the_same_ranks() {
    let Some(gpu) = Gpu::new() else { return };
    job(&gpu.place, &gpu.place.write("list.i32", List::random(10, 1).i32()), "method = 'serial'");
    let refused = gpu.run(&[], &["run.device=gpu"]).expect(2);
    assert!(refused.err.contains("run.device"), "{}", refused.err);
    for list in lists() {
        let path = gpu.place.write("list.i32", list.i32());
        for method in ["ruling-set", "wyllie"] {
            job(&gpu.place, &path, &format!("method = '{method}'"));
            gpu.fresh(&["run.device=gpu", "limits.gpu_memory=8MiB"]);
            holds(&format!("{} elements by {method} on a GPU", list.places.len()), &gpu.place, &list, false);
            // Samples tell what the list takes of the memory that the job holds.
            let metrics = std::fs::read(gpu.place.workdir().join("metrics.json")).expect("there");
            let metrics: Value = serde_json::from_slice(&metrics).expect("JSON");
            let samples = metrics["samples"].as_array().expect("samples").iter();
            let most = samples.map(|sample| sample[4].as_u64().expect("KiB")).max().expect("some");
            let bytes = 4 * list.places.len() as u64;
            assert!((bytes >> 10..8 << 10).contains(&most), "{most} KiB of {method}, {bytes} bytes");
        }
    }
}

/// Elements of a list that does not fit the limit.
const MANY: u64 = 2_000_000;

/// A list that does not fit the limit, which is the smallest that does.
fn larger_than_memory(place: &Place) -> (List, String) {
    let list = List::random(MANY, 21);
    job(place, &place.write("list.i32", list.i32()), "");
    let plan = place.gpugraph(&["plan", "job.toml", "--json", "--set", "limits.threads=2"]).expect(0);
    let plan: Value = serde_json::from_str(&plan.out).expect("JSON");
    let least = number(&plan, "host_memory_needed").next_multiple_of(1 << 20);
    (list, format!("limits.host_memory={least}"))
}

/// Numbers of no element, files that are cut short, and single bits.
#[test]
fn files_of_a_larger_list_that_were_damaged_are_made_anew() {
    let place = Place::new();
    let (list, limit) = larger_than_memory(&place);
    let args = ["run", "job.toml", "--quiet", "--set", "limits.threads=2", "--set", &limit];
    let folder = place.workdir().join("units/listrank.0.files");
    let mut rounds = 1;
    let strange: fn(&mut Vec<u8>) = |bytes| bytes.fill(0xfe);
    let cut: fn(&mut Vec<u8>) = |bytes| bytes.truncate(bytes.len() / 2);
    // Another element that is there, or a step more.
    let flip: fn(&mut Vec<u8>) = |bytes| bytes.first_mut().into_iter().for_each(|byte| *byte ^= 1);
    // A link to an element beyond the last.
    let beyond: fn(&mut Vec<u8>) = |bytes| bytes.iter_mut().skip(7).step_by(8).for_each(|byte| *byte ^= 0x40);
    for (round, name, change) in [
        (Some(5), "chains", strange),
        (Some(5), "requests", strange),
        (Some(5), "requests", cut),
        (Some(5), "chains", flip),
        (Some(5), "requests", flip),
        (Some(2), "unit", flip),
        (Some(2), "unit", beyond),
        (Some(2), "unit", strange),
        (None, "ranks", flip),
    ] {
        // The last round but one, of as many as the run before took.
        let round = round.unwrap_or(rounds - 1);
        let _ = fs::remove_dir_all(place.workdir());
        let stopped =
            Ran::command(place.command(&args).env("GPUGRAPH_FAILPOINTS", format!("listrank.round={round}:stop")));
        assert_eq!(stopped.code, 75, "{}", stopped.err);
        let files: Vec<_> = fs::read_dir(&folder).expect("files").map(|entry| entry.expect("a file").path()).collect();
        let files = files.iter().filter(|file| file.display().to_string().contains(&format!("/{name}-")));
        let damaged = files.map(|file| {
            let mut bytes = fs::read(file).expect("a file");
            change(&mut bytes);
            fs::write(file, bytes).expect("written");
        });
        assert!(damaged.count() > 0, "{name}");
        let ran = Ran::command(&mut place.command(&args));
        assert!(ran.code == 0 && ran.err.contains("ranking from the beginning"), "{name}: {} {}", ran.code, ran.err);
        holds(name, &place, &list, false);
        rounds = place.read_report()["results"]["listrank"]["rounds"].as_array().expect("rounds").len();
    }
}

#[test]
fn lists_larger_than_memory_go_by_files_and_are_killed_anywhere() {
    let place = Place::new();
    let (list, limit) = larger_than_memory(&place);
    let set = ["limits.threads=2", limit.as_str()];
    let count = place.path("hits");
    let args = ["run", "job.toml", "--quiet", "--set", set[0], "--set", set[1]];
    assert!(place.command(&args).env("GPUGRAPH_FAILPOINTS_COUNT", &count).status().expect("run").success());
    holds("by files", &place, &list, false);
    let report = place.read_report();
    let found = &report["results"]["listrank"];
    assert_eq!(found["method"], "contraction", "{report:#}");
    let elements = |step: &str| -> u64 {
        let of_step = found["rounds"].as_array().expect("rounds").iter().filter(|round| round["step"] == step);
        of_step.map(|round| round["elements"].as_u64().expect("a number")).sum()
    };
    // All bins are ranked, and all but the first are eliminated before.
    assert_eq!((elements("scan"), elements("rank")), (MANY, MANY), "{found}");
    assert!((MANY / 2..MANY).contains(&elements("eliminate")), "{found}");
    // Fifteen passes over 16 bytes an element are the aim.
    assert!(number(&report, "results.listrank.bytes") < 15 * 16 * MANY, "{found}");
    assert!(number(&report, "limits.host_memory_peak") <= number(&report, "limits.host_memory"), "{report:#}");
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    let hits = std::fs::read_to_string(&count).expect("counts");
    let mut resumed = 0;
    for line in hits.lines().filter(|line| line.starts_with("listrank.") || line.starts_with("placed.")) {
        let (name, hits) = line.split_once(' ').expect("two columns");
        let hits: u64 = hits.parse().expect("a number");
        // How many there are at the end depends on threads.
        let last = hits - hits / 4;
        for (hit, action, code) in
            [(1, "enospc", 6), (hits / 3, "kill", 137), (hits / 2, "enospc", 6), (last, "kill", 137)]
        {
            std::fs::remove_dir_all(place.workdir()).expect("removed");
            let rule = format!("{name}={}:{action}", hit.max(1));
            let ran = run(&place, &rule, &set);
            assert_eq!(ran.code, code, "{rule}: {}", ran.err);
            let rounds = std::fs::metadata(place.workdir().join("units/listrank.0.files/rounds"));
            run(&place, "", &set).expect(0);
            holds(&rule, &place, &list, false);
            resumed += u64::from(rounds.is_ok_and(|rounds| rounds.len() > 100));
            assert!(!place.workdir().join("units/listrank.0.files").exists(), "{rule}");
        }
    }
    assert!(resumed > 5, "no run went on");
}

#[test]
fn what_is_no_list_is_refused_by_files_too() {
    let place = Place::new();
    let (good, limit) = larger_than_memory(&place);
    let set = ["limits.threads=2", limit.as_str()];
    let (first, tail) = (good.places[10], good.places[good.places.len() - 1]);
    let mut cycle = good.successors.clone();
    cycle[good.places[99] as usize] = good.places[200] as i64;
    cycle[good.places[199] as usize] = good.places[100] as i64;
    let changed = |element: u64, successor: i64| {
        let mut bad = good.successors.clone();
        bad[element as usize] = successor;
        bad
    };
    for (successors, said) in [
        (changed(first, -1), "one element without a successor".to_owned()),
        (changed(first, good.places[500] as i64), format!("{} as that of element", good.places[500])),
        (changed(tail, good.places[0] as i64), "cycle".to_owned()),
        (cycle, "cycle, on which element".to_owned()),
    ] {
        let bad = List { places: Vec::new(), successors };
        place.write("list.i32", bad.i32());
        let ran = run(&place, "", &[set[0], set[1], "run.device=cpu"]).expect(3);
        assert!(ran.error().contains("list.i32") && ran.err.contains(&said), "{said}: {}", ran.err);
        assert!(outputs(&place.workdir()).is_empty(), "{said}");
    }
}

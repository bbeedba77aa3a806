//! What results are of: every key of `[input]` and of each algorithm's table. A job whose file or whose `--set` changes one has the new
//! answer, or is refused by a sentence that names the key; it never has the old answer.

use std::collections::BTreeMap;
use std::fs;

use gpugraph::internals::algo::ALGORITHMS;
use serde_json::Value;

use crate::support::{self, Place, Ran};

/// A change of one key: the table, the key, its value before and after; empty for no such line.
struct Case {
    table: &'static str,
    key: &'static str,
    before: &'static str,
    after: &'static str,
    /// Other lines of the same job, behind the table that they are of.
    more: &'static [(&'static str, &'static str)],
}

const fn case(
    table: &'static str,
    key: &'static str,
    before: &'static str,
    after: &'static str,
    more: &'static [(&'static str, &'static str)],
) -> Case {
    Case { table, key, before, after, more }
}

const TEXT: (&str, &str) = ("input", "path = 'a.txt'");
/// With a type, which a kept graph needs to have weights.
const WEIGHTS: (&str, &str) = ("input", "weights = 'u32'");
const BFS: (&str, &str) = ("bfs", "sources = [1]\nwrite = true");
const SSSP: (&str, &str) = ("sssp", "sources = [1]\nwrite = true");
const TRAVERSE: (&str, &str) = ("traverse", "sources = [1]\nwrite = true");
const CORNERS: (&str, &str) = ("triangle", "per_vertex = true");
const ROOTS: &str = "roots = 2\nwrite = true";

/// At least one for each key. Those of a key whose value changes no answer are there as well: they must not be refused for nothing.
const CASES: [Case; 70] = [
    case("input", "path", "'a.txt'", "'b.txt'", &[BFS]),
    case("input", "format", "", "'u64'", &[("input", "path = 'a.bin'"), CORNERS]),
    case("input", "format", "", "'text'", &[TEXT, CORNERS]),
    case("input", "weights", "'u32'", "'f32'", &[TEXT, SSSP]),
    case("input", "columns", "[1, 2, 3]", "[1, 2, 4]", &[TEXT, WEIGHTS, SSSP]),
    case("input", "columns", "", "[2, 1]", &[TEXT, ("input", "directed = true"), BFS]),
    case("input", "skip_lines", "", "3", &[TEXT, CORNERS]),
    case("input", "ids", "", "'string'", &[TEXT, CORNERS]),
    case("input", "recursive", "true", "", &[("input", "path = 'parts'"), CORNERS]),
    case("input", "directed", "", "true", &[TEXT, BFS, TRAVERSE]),
    case("input", "directed", "true", "false", &[TEXT, WEIGHTS, SSSP, CORNERS]),
    case("input", "directed", "", "true", &[TEXT, ("dfs", "source = 1")]),
    case("input", "directed", "", "true", &[("input", "kronecker = { scale = 5 }"), ("bfs", ROOTS)]),
    case("input", "first_id", "", "1", &[("input", "path = 'a.mtx'"), BFS]),
    case("input", "expect", "", "{ edges = 9, ids = 9 }", &[TEXT, BFS]),
    case("input", "prepared", "'k'", "'k2'", &[BFS]),
    case("input", "kronecker", "{ scale = 5 }", "{ scale = 5, seed = 2 }", &[("bfs", ROOTS)]),
    case("input", "uniform", "{ scale = 5 }", "{ scale = 5, edge_factor = 15.5 }", &[("bfs", ROOTS)]),
    case("input", "vertices", "", "'list.v'", &[TEXT, BFS]),
    case("input", "vertices", "'list.v'", "'longer.v'", &[TEXT, BFS]),
    case("input", "random", "{ vertices = 30 }", "{ vertices = 30, max_weight = 9 }", &[("sssp", ROOTS)]),
    case("input", "rmat", "{ scale = 5 }", "{ scale = 5, a = 0.4, b = 0.2 }", &[("bfs", ROOTS)]),
    case("input", "ssca2", "{ vertices = 40 }", "{ vertices = 40, one_way = 0.9 }", &[("bfs", ROOTS)]),
    case("input", "grid", "{ rows = 4, columns = 6 }", "{ rows = 6, columns = 4 }", &[("bfs", ROOTS)]),
    case("input", "list", "{ length = 99 }", "{ length = 99, seed = 2 }", &[("listrank", "")]),
    case("input", "format", "'i32'", "'i64'", &[("input", "path = 'list.i32'"), ("listrank", "")]),
    case("triangle", "per_vertex", "true", "false", &[TEXT]),
    case("triangle", "clustering", "'directed'", "'undirected'", &[TEXT, ("input", "directed = true")]),
    case("triangle", "per_edge", "true", "false", &[TEXT]),
    case("triangle", "comparisons", "true", "", &[TEXT, CORNERS]),
    case("bfs", "roots", "2", "3", &[TEXT, ("bfs", "write = true")]),
    case("bfs", "seed", "1", "2", &[TEXT, ("bfs", ROOTS)]),
    case("bfs", "sources", "[1]", "[2, 1]", &[TEXT, ("bfs", "write = true")]),
    case("bfs", "validate", "true", "false", &[TEXT, BFS]),
    case("bfs", "write", "true", "false", &[TEXT, ("bfs", "sources = [1]")]),
    case("bfs", "alpha", "", "3.0", &[TEXT, BFS]),
    case("bfs", "beta", "", "3.0", &[TEXT, BFS]),
    case("traverse", "roots", "2", "3", &[TEXT, ("traverse", "write = true")]),
    case("traverse", "seed", "1", "2", &[TEXT, ("traverse", ROOTS)]),
    case("traverse", "sources", "[1]", "[2, 1]", &[TEXT, ("traverse", "write = true")]),
    case("traverse", "validate", "true", "false", &[TEXT, TRAVERSE]),
    case("traverse", "write", "true", "false", &[TEXT, ("traverse", "sources = [1]")]),
    case("traverse", "strategy", "", "'atomic'", &[TEXT, TRAVERSE]),
    case("traverse", "owner", "'modulo'", "'contiguous'", &[TEXT, TRAVERSE]),
    case("dfs", "source", "1", "2", &[TEXT]),
    case("dfs", "forest", "true", "", &[TEXT, ("dfs", "order = 'any'")]),
    case("dfs", "order", "'lexicographic'", "'any'", &[TEXT, ("dfs", "source = 1")]),
    case("dfs", "articulation", "true", "false", &[TEXT, ("dfs", "forest = true")]),
    case("dfs", "multigraph", "true", "", &[TEXT, ("dfs", "forest = true\narticulation = true")]),
    case("dfs", "components", "", "'strong'", &[TEXT, ("input", "directed = true"), ("dfs", "forest = true")]),
    case("components", "strong", "", "true", &[TEXT, ("input", "directed = true")]),
    case("cdlp", "iterations", "", "2", &[TEXT]),
    case("betweenness", "roots", "2", "3", &[TEXT]),
    case("betweenness", "seed", "1", "2", &[TEXT, ("betweenness", "roots = 2")]),
    case("betweenness", "sources", "[1]", "[2, 1]", &[TEXT]),
    case("betweenness", "normalise", "", "'pairs'", &[TEXT]),
    case("distances", "roots", "2", "3", &[TEXT]),
    case("distances", "seed", "1", "2", &[TEXT, ("distances", "roots = 2")]),
    case("distances", "sources", "[1]", "[2, 1]", &[TEXT]),
    case("pagerank", "damping", "", "0.5", &[TEXT]),
    case("pagerank", "variant", "", "'graphalytics'", &[TEXT]),
    case("pagerank", "tolerance", "", "1e-9", &[TEXT]),
    case("pagerank", "iterations", "", "2", &[TEXT]),
    case("pagerank", "personalised", "[1]", "[1, 2]", &[TEXT]),
    case("dfs", "validate", "true", "false", &[TEXT, ("dfs", "source = 1")]),
    case("sssp", "roots", "2", "3", &[TEXT, WEIGHTS, ("sssp", "write = true")]),
    case("sssp", "sources", "[1]", "[2, 1]", &[TEXT, WEIGHTS, ("sssp", "write = true")]),
    case("sssp", "target", "3", "4", &[TEXT, WEIGHTS, SSSP]),
    case("sssp", "weights", "'file'", "{ uniform = [1, 9], seed = 4 }", &[TEXT, WEIGHTS, SSSP]),
    case("listrank", "order", "'successors'", "'from-head'", &[("input", "list = { length = 99 }")]),
];

/// Keys that are like those of another table, which has the case: they are read by the same code, or say how and not what.
const ALIKE: [(&str, &str); 7] = [
    ("bfs", "graph500"),
    ("sssp", "graph500"),
    ("sssp", "seed"),
    ("sssp", "validate"),
    ("sssp", "write"),
    ("sssp", "method"),
    ("listrank", "method"),
];

impl Case {
    fn tables(&self, value: &str) -> BTreeMap<&'static str, String> {
        let mut tables: BTreeMap<&str, String> = BTreeMap::new();
        self.more.iter().for_each(|(table, lines)| *tables.entry(table).or_default() += &format!("{lines}\n"));
        let own = tables.entry(self.table).or_default();
        if !value.is_empty() {
            *own += &format!("{} = {value}\n", self.key);
        }
        tables
    }

    /// Writes a job file in the workdir `work`, with that value of the key. With `prepared` the graph is kept by a job of its own.
    fn write(&self, place: &Place, value: &str, (keep, prepared): (bool, bool)) {
        let mut tables = self.tables(value);
        let text = |workdir: &str, keep: bool, tables: &BTreeMap<&str, String>| {
            let of = |(name, lines): (&&str, &String)| format!("[{name}]\n{lines}");
            let tables: String = tables.iter().map(of).collect();
            format!("[job]\nworkdir = '{workdir}'\nkeep = {keep}\n[run]\ndevice = 'cpu'\n{tables}")
        };
        if prepared {
            let input = tables.insert("input", "prepared = 'kept'\n".to_owned()).unwrap_or_default();
            place.write("kept.toml", text("kept", true, &BTreeMap::from([("input", input)])));
        }
        place.write("job.toml", text("work", keep, &tables));
    }

    /// Whether the job can be one on a graph that another job kept.
    fn has_graph(&self) -> bool {
        self.key != "prepared" && !self.tables(self.before).contains_key("listrank")
    }
}

/// The inputs of all cases, in a place of their own.
fn place() -> Place {
    let place = Place::new();
    let edges = support::random_edges(24, 90, 5);
    let line = |at: usize, [u, v]: [u64; 2]| format!("{u} {v} {} {}\n", at % 7 + 1, at % 5 + 1);
    let text = |from: usize| edges.iter().enumerate().skip(from).map(|(at, &edge)| line(at, edge)).collect::<String>();
    place.write("a.txt", text(0) + "1 2 3 4\n");
    place.write("b.txt", text(11) + "1 2 3 4\n");
    let list = |last: u64| (0..24).chain([last]).map(|id| format!("{id}\n")).collect::<String>();
    place.write("list.v", list(30));
    place.write("longer.v", list(31));
    place.u32("a.bin", &edges);
    let entries: String = edges.iter().map(|[u, v]| format!("{} {}\n", u + 1, v + 1)).collect();
    let head = "%%MatrixMarket matrix coordinate pattern general";
    place.write("a.mtx", format!("{head}\n24 24 {}\n{entries}", edges.len()));
    fs::create_dir_all(place.path("parts/more")).expect("made");
    place.write("parts/a.txt", text(0));
    place.write("parts/more/b.txt", "1 5\n5 9\n9 1\n");
    // As i64 the same bytes are no list.
    let successors: [i32; 6] = [1, 2, 3, 4, 5, -1];
    place.write("list.i32", successors.iter().flat_map(|next| next.to_le_bytes()).collect::<Vec<u8>>());
    place
}

/// What a job found: its files, and of its results what does not depend on how they were found.
fn found(place: &Place, workdir: &str) -> (BTreeMap<String, Vec<u8>>, Value) {
    let workdir = place.path(workdir);
    let report = fs::read(workdir.join("report.json")).unwrap_or_default();
    let mut report: Value = serde_json::from_slice(&report).unwrap_or_default();
    strip(&mut report["results"]);
    (support::files(&workdir, &["out"]), report["results"].take())
}

fn strip(value: &mut Value) {
    const HOW: [&str; 16] = [
        "seconds",
        "trials",
        "teps",
        "harmonic_mean_teps",
        "pairs",
        "levels",
        "phases",
        "rounds",
        "bytes",
        "expanded",
        "pruned",
        "sent_bytes",
        "unpruned_bytes",
        "method",
        "steps",
        "ranks",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !HOW.contains(&key.as_str()) && !key.ends_with("_seconds") && key != "graph500");
            fields.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}

/// A run of the job in the place, with the changed value by file or by `--set`.
fn changed(case: &Case, place: &Place, by_file: bool, kind: (bool, bool), more: &[&str]) -> Ran {
    // `--set` can't take a key out.
    let by_file = by_file || case.after.is_empty();
    let set = format!("{}.{}={}", case.table, case.key, case.after);
    case.write(place, if by_file { case.after } else { case.before }, kind);
    let args = if by_file { more.to_vec() } else { [more, &["--set", &set]].concat() };
    place.gpugraph(&args)
}

/// Fails unless a changed job ended as a new one does in a workdir of its own, `fresh`; or, where `may_refuse`, by naming the key.
#[track_caller]
fn judge(case: &Case, state: &str, ran: &Ran, place: &Place, fresh: &(Ran, Place), may_refuse: bool) {
    let what = format!("[{}] {} = {} to {}, {state}", case.table, case.key, case.before, case.after);
    if ran.code == 5 && may_refuse {
        let names = ["path", "prepared"].contains(&case.key) || ran.error().contains(case.key);
        assert!(names && ran.error().contains("--fresh"), "{what}: {}", ran.err);
        return;
    }
    assert_eq!(ran.code, fresh.0.code, "{what}: {}", ran.err);
    if ran.code == 0 {
        let (new, old) = (found(place, "work"), found(&fresh.1, "work"));
        assert!(new.0 == old.0, "{what}: files {:?} and {:?}", new.0.keys(), old.0.keys());
        assert_eq!(new.1, old.1, "{what}");
    }
}

fn check(case: &Case, number: usize) {
    let run = ["run", "job.toml", "--quiet"];
    let fresh = place();
    let kept_two = |place: &Place| {
        if case.key == "prepared" {
            for (workdir, path) in [("k", "a.txt"), ("k2", "b.txt")] {
                let job = format!("[job]\nworkdir = '{workdir}'\nkeep = true\n[input]\npath = '{path}'\n");
                place.write("two.toml", job);
                place.gpugraph(&["run", "two.toml"]).expect(0);
            }
        }
    };
    kept_two(&fresh);
    let ran = changed(case, &fresh, true, (false, false), &run);
    let fresh = (ran, fresh);
    let is_of_input = case.table == "input";
    for (state, keep) in [("finished", false), ("keep", true), ("stopped", false)] {
        let is_stopped = state == "stopped";
        if keep && case.key == "list" {
            continue;
        }
        let place = place();
        kept_two(&place);
        case.write(&place, case.before, (keep && case.has_graph(), false));
        let failing = if is_stopped { "out.rename=1:kill" } else { "" };
        place.run_failing(failing, &["--quiet"]).expect(if is_stopped { 137 } else { 0 });
        let by_file = (number + usize::from(keep)).is_multiple_of(2);
        let before = found(&place, "work");
        let kind = (keep && case.has_graph(), false);
        if state == "finished" && fresh.0.code == 0 && before != found(&fresh.1, "work") {
            let ran = changed(case, &place, by_file, kind, &["verify", "job.toml"]);
            assert!([3, 5].contains(&ran.code), "verify of [{}] {}: {}", case.table, case.key, ran.out);
        }
        let ran = changed(case, &place, by_file, kind, &run);
        // Where nothing was finished, nothing is in the way. Another table of the same graph is computed alone.
        judge(case, state, &ran, &place, &fresh, is_of_input && !is_stopped);
    }
    // A generator's weights are kept for no other job, repeats of edges neither, and ids are numbered by the job that names the graph.
    if !case.has_graph() || ["random", "multigraph", "comparisons", "first_id"].contains(&case.key) {
        return;
    }
    let place = place();
    let by_file = number.is_multiple_of(2);
    case.write(&place, case.before, (false, true));
    place.gpugraph(&["run", "kept.toml", "--quiet"]).expect(0);
    place.gpugraph(&run).expect(0);
    if is_of_input {
        let set = format!("input.{}={}", case.key, case.after);
        case.write(&place, case.after, (false, true));
        let kept = place.gpugraph(&["run", "kept.toml", "--quiet"]);
        assert!([0, 5, fresh.0.code].contains(&kept.code), "{set}: {}", kept.err);
        assert!(kept.code != 5 || case.key == "path" || kept.error().contains(case.key), "{set}: {}", kept.err);
        if place.gpugraph(&["run", "kept.toml", "--quiet", "--fresh"]).code != 0 {
            return;
        }
        // The key is not one of this job, which names the graph that is another now.
        let ran = place.gpugraph(&run);
        match ran.code {
            5 => assert!(ran.error().contains("kept"), "{set}: {}", ran.err),
            _ => judge(case, "prepared", &ran, &place, &fresh, false),
        }
    } else {
        let ran = changed(case, &place, by_file, (false, true), &run);
        judge(case, "prepared", &ran, &place, &fresh, false);
    }
}

#[test]
fn every_key_that_changes_an_answer_is_part_of_what_results_are_of() {
    let place = place();
    let with_keys = ALGORITHMS.iter().filter(|algorithm| !algorithm.keys.is_empty() && algorithm.name != "sums");
    let tables: Vec<_> = ["input"].into_iter().chain(with_keys.map(|algorithm| algorithm.name)).collect();
    place.write("job.toml", tables.iter().map(|table| format!("[{table}]\nzzz = 1\n")).collect::<String>());
    let said = place.run(&[]).expect(2).err;
    for table in tables {
        // The program says itself which keys there are.
        let begin = format!("unknown key 'zzz' in [{table}]; there are ");
        let keys = said.lines().find_map(|line| line.split_once(&begin)).unwrap_or_else(|| panic!("{table}: {said}")).1;
        for key in keys.split(", ") {
            let is_there = CASES.iter().any(|case| (case.table, case.key) == (table, key));
            assert!(is_there || ALIKE.contains(&(table, key)), "no case changes [{table}] {key}");
        }
    }
    let wrong = |first: usize| {
        let mine = CASES.iter().enumerate().skip(first).step_by(4);
        let is_wrong = |&(number, case): &(usize, &Case)| std::panic::catch_unwind(|| check(case, number)).is_err();
        mine.filter(is_wrong).map(|(_, case)| (case.table, case.key, case.after)).collect::<Vec<_>>()
    };
    let wrong: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|first| scope.spawn(move || wrong(first))).collect();
        all.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A job on `a.txt` in the workdir `work`, in a file of its own.
fn job(place: &Place, name: &str, tables: &str) {
    place.write(name, format!("[job]\nworkdir = 'work'\n[run]\ndevice = 'cpu'\n[input]\npath = 'a.txt'\n{tables}"));
}

fn out(place: &Place) -> BTreeMap<String, Vec<u8>> {
    support::files(&place.workdir(), &["out"])
}

#[test]
fn results_of_tables_that_a_job_does_not_have_stay_and_say_whose_they_are() {
    let place = place();
    let run = |name: &str, more: &[&str]| place.gpugraph(&[&["run", name], more].concat()).expect(0);
    let status = |name: &str| place.gpugraph(&["status", name]).expect(0).out;
    job(&place, "first.toml", "[triangle]\nper_vertex = true\n");
    job(&place, "second.toml", "[bfs]\nsources = [1, 2]\nwrite = true\n[dfs]\nsource = 1\n");
    let counted = run("first.toml", &[]);
    let answer = counted.out.split("  ").next().expect("an answer").to_owned();
    let of_first = out(&place);
    let searched = run("second.toml", &[]);
    assert!(!searched.out.contains("triangles"), "only its own answers are printed: {}", searched.out);
    let names = |report: &Value| report["results"].as_object().expect("results").keys().cloned().collect::<Vec<_>>();
    let report = place.read_report();
    assert_eq!(names(&report), ["bfs", "dfs", "triangle"]);
    let from = &report["results"]["triangle"]["from"];
    assert_eq!(from["job"], "first.toml");
    let time = from["time"].as_str().expect("a time").to_owned();
    assert!(report["results"]["bfs"]["from"].is_null(), "{report:#}");
    assert!(of_first.iter().all(|(name, bytes)| out(&place).get(name) == Some(bytes)));
    let said = format!("by first.toml at {time}");
    let line = status("second.toml").lines().find(|line| line.starts_with(&answer)).map(str::to_owned);
    assert!(line.expect("its answer").contains(&said));
    let eyes = || fs::read_to_string(place.workdir().join("report.html")).expect("a report");
    assert!(eyes().contains(&said));
    place.gpugraph(&["verify", "second.toml"]).expect(0);
    // The first again has nothing to do, and all reports are its own.
    run("first.toml", &[]);
    let report = place.read_report();
    assert_eq!(report["results"]["bfs"]["from"]["job"], "second.toml");
    assert!(report["results"]["triangle"]["from"].is_null() && !eyes().contains(&said));
    assert!(eyes().contains("by second.toml at ") && status("work").contains("by second.toml at "));
    // A table taken out of a job leaves its result in the same way; one that is changed leaves nothing of before.
    job(&place, "second.toml", "[bfs]\nsources = [2]\nwrite = true\n");
    assert!(status("second.toml").contains("warning   the job file has [bfs] sources = [2]"));
    place.gpugraph(&["verify", "second.toml"]).expect(5);
    run("second.toml", &[]);
    let report = place.read_report();
    assert_eq!((names(&report).len(), &report["results"]["dfs"]["from"]["job"]), (3, &Value::from("second.toml")));
    let files = out(&place);
    assert!(files.keys().any(|name| name.starts_with("out/bfs/2/")), "{:?}", files.keys());
    assert!(!files.keys().any(|name| name.starts_with("out/bfs/1/")), "{:?}", files.keys());
    place.gpugraph(&["verify", "second.toml"]).expect(0);
    // Those of another graph go, with their files.
    run("first.toml", &["--set", "input.path=b.txt", "--fresh"]);
    assert_eq!(names(&place.read_report()), ["triangle"]);
    assert_eq!(out(&place).keys().collect::<Vec<_>>(), of_first.keys().collect::<Vec<_>>());
}

#[test]
fn a_table_that_needs_direction_and_keep_are_no_other_input() {
    let place = place();
    let directed = ["--set", "input.directed=true"];
    let run = |tables: &str, more: &[&str]| {
        job(&place, "job.toml", tables);
        place.run(&[&directed[..], more].concat()).expect(0);
        if more.is_empty() {
            place.gpugraph(&[&["verify", "job.toml"], &directed[..]].concat()).expect(0);
        }
        found(&place, "work")
    };
    let counted = run("[triangle]\nper_vertex = true\n", &[]);
    // Its rows keep direction from here on; the counts are the same.
    let both = run("[triangle]\nper_vertex = true\n[bfs]\nsources = [1]\nwrite = true\n", &[]);
    assert!(counted.0.iter().all(|(name, bytes)| both.0.get(name) == Some(bytes)));
    assert_eq!(run("[triangle]\nper_vertex = true\n", &["--set", "job.keep=true"]).0, both.0);
    assert_eq!(run("[triangle]\nper_vertex = true\n", &[]).0, both.0);
    // Without direction the search is of another graph.
    job(&place, "job.toml", "[bfs]\nsources = [1]\nwrite = true\n");
    assert!(place.run(&[]).expect(5).error().contains("directed"));
}

/// Counts ignore direction, so they stay when the graph gets direction for the table of another job file.
#[test]
fn results_without_direction_stay_beside_a_search_that_needs_it() {
    let place = place();
    let directed = ["--set", "input.directed=true"];
    let run = |tables: &str| {
        job(&place, "job.toml", tables);
        place.run(&directed).expect(0);
        place.gpugraph(&[&["verify", "job.toml"], &directed[..]].concat()).expect(0);
        found(&place, "work")
    };
    const COUNTS: &str = "[triangle]\nper_vertex = true\nper_edge = true\n";
    const SEARCH: &str = "[bfs]\nsources = [1]\nwrite = true\n";
    let counted = run(COUNTS);
    let searched = run(SEARCH);
    assert!(counted.0.iter().all(|(name, bytes)| searched.0.get(name) == Some(bytes)), "{:?}", searched.0.keys());
    assert_eq!(searched.1["triangle"]["triangles"], counted.1["triangle"]["triangles"]);
    assert_eq!(run(&format!("{COUNTS}{SEARCH}")).0, searched.0);
    assert_eq!(run(COUNTS).0, searched.0);
}

#[test]
fn a_column_that_is_lost_or_replaced_is_made_again() {
    let place = place();
    job(&place, "job.toml", "[triangle]\nper_vertex = true\n");
    place.run(&[]).expect(0);
    let whole = out(&place);
    let column = |name: &str| place.workdir().join("out").join(name);
    let verify = || place.gpugraph(&["verify", "job.toml"]).code;
    // One is gone, and the other can't be removed: root may remove any file, but none may a folder as a file.
    fs::remove_file(column("clustering.npy")).expect("removed");
    fs::rename(column("triangles.npy"), place.path("aside")).expect("moved");
    fs::create_dir(column("triangles.npy")).expect("made");
    fs::write(column("triangles.npy").join("theirs"), "").expect("written");
    for _ in 0..2 {
        let ran = place.run(&[]).expect(10);
        assert!(ran.error().contains("triangles.npy") && ran.error().contains("move or remove it"), "{}", ran.err);
        assert_ne!(verify(), 0);
    }
    fs::remove_dir_all(column("triangles.npy")).expect("removed");
    assert_eq!(verify(), 4);
    place.run(&[]).expect(0);
    assert!(out(&place) == whole && verify() == 0);
    for what in ["none", "link", "dangling", "other"] {
        fs::remove_file(column("clustering.npy")).expect("removed");
        match what {
            "link" => {
                fs::write(place.path("aside"), &whole["out/clustering.npy"]).expect("written");
                std::os::unix::fs::symlink(place.path("aside"), column("clustering.npy")).expect("linked");
            }
            "dangling" => std::os::unix::fs::symlink("nowhere", column("clustering.npy")).expect("linked"),
            "other" => fs::write(column("clustering.npy"), &whole["out/triangles.npy"]).expect("written"),
            _ => {}
        }
        assert_eq!(verify(), 4, "{what}");
        place.run(&[]).expect(0);
        assert!(out(&place) == whole && verify() == 0, "{what}");
        assert!(column("clustering.npy").symlink_metadata().is_ok_and(|meta| meta.is_file()), "{what}");
    }
}

#[test]
fn a_graph_that_another_job_reads_is_not_removed() {
    let place = place();
    let edges = support::random_edges(700, 24_000, 17);
    place.u32("edges.u32", &edges);
    let kept = "[job]\nworkdir = 'kept'\nkeep = true\n[input]\npath = 'edges.u32'\n";
    place.write("kept.toml", kept);
    place.gpugraph(&["run", "kept.toml"]).expect(0);
    let reader = "[job]\nworkdir = 'work'\n[run]\ntrials = 100_000\n[input]\nprepared = 'kept'\n[triangle]\n";
    place.write("job.toml", reader);
    let mut reads = place.start(&[]);
    assert!(reads.until("triangle begins"));
    let refused = |args: &[&str]| {
        let ran = place.gpugraph(args).expect(5);
        let work = place.workdir().display().to_string();
        for word in [&format!("pid {} ", reads.id()), "kept: in use", &work] {
            assert!(ran.error().contains(word), "{word} is not in {}", ran.err);
        }
        assert!(place.path("kept/graph").is_dir());
    };
    refused(&["clean", "kept"]);
    refused(&["clean", "kept", "--all"]);
    refused(&["run", "kept.toml", "--fresh"]);
    refused(&["run", "kept.toml", "--set", "job.keep=false", "--set", "triangle.per_vertex=false"]);
    // Reading it as well, or finding it whole, is in nobody's way; making it anew is.
    place.gpugraph(&["run", "kept.toml", "--set", "triangle.per_vertex=true"]).expect(0);
    let block = place.path("kept/graph/lower.000000.block");
    let whole = fs::read(&block).expect("a block");
    fs::write(place.path("cut"), &whole[..whole.len() / 2]).expect("written");
    fs::rename(place.path("cut"), &block).expect("replaced");
    refused(&["run", "kept.toml"]);
    // What a killed reader leaves keeps nobody from anything.
    reads.signal(9);
    reads.end().expect(137);
    assert!(fs::read_dir(place.path("kept/readers")).expect("its notice").count() > 0);
    place.gpugraph(&["run", "kept.toml"]).expect(0);
    assert!(fs::read(&block).expect("a block") == whole && !place.path("kept/readers").exists());
    place.run(&["--fresh", "--set", "run.trials=1"]).expect(0);
    assert!(!place.path("kept/readers").exists(), "a reader that is done takes its notice back");
    place.gpugraph(&["clean", "kept"]).expect(0);
}

#[test]
fn a_count_that_was_done_is_not_repeated_and_what_is_begun_anew_is_told() {
    let place = place();
    place.u32("edges.u32", &support::random_edges(700, 24_000, 17));
    place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'edges.u32'\n[triangle]\n");
    let report = place.report(&[]);
    let units = support::number(&report, "results.triangle.units");
    fs::remove_dir_all(place.workdir()).expect("removed");
    place.run_failing(&format!("unit.done={units}:kill"), &[]).expect(137);
    let ran = place.run_failing("unit.done=1:kill", &[]).expect(0);
    assert!(!ran.err.contains("anew"), "{}", ran.err);
    assert_eq!(support::answer(&place.read_report()), support::answer(&report));
    // A list in memory has nothing that lasts before its ranks are written.
    place.write("job.toml", "[job]\nworkdir = 'list'\n[input]\nlist = { length = 99 }\n[listrank]\n");
    place.run_failing("out.rename=1:kill", &[]).expect(137);
    let ran = place.run(&[]).expect(0);
    assert_eq!(ran.err.matches("listrank starts from the beginning").count(), 1, "{}", ran.err);
    assert!(!place.run(&[]).expect(0).err.contains("anew"));
}

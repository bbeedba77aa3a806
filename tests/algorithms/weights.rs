//! Weights of edges in jobs: graphs that keep direction and are read without it, kept graphs with weights and without, and what is refused.

use std::fs;

use serde_json::Value;

use crate::oracle::{Graph, Known};
use crate::support::gpu::Gpu;
use crate::support::{Place, number, resumed};
use crate::{job, outputs, report, run};

const KEEP: &str = "[job]\nworkdir = 'work'\nkeep = true\n";
const PREPARING: [&str; 4] = ["ingest", "relabel", "partition", "sort"];

/// The answers that read weights of the input: those of the lower half, and of both.
fn of_file(graph: &Graph, directed: bool) -> Vec<Known> {
    graph.weighted_sums(directed).into_iter().filter(|([table, _], _, _)| table.contains("\"file\"")).collect()
}

/// Files of weights, by their paths below the graph's folder.
fn stored(place: &Place, workdir: &str) -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", "undirected/"] {
        let entries = fs::read_dir(place.path(workdir).join("graph").join(folder)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        found.extend(names.filter(|name| name.ends_with(".weights")).map(|name| format!("{folder}{name}")));
    }
    found.sort();
    found
}

/// A job of these tables on the edges of `graph` with weights; direction is kept if they or the graph for other jobs do.
fn directed_job(place: &Place, graph: &Graph, tables: &str) {
    let path = place.write("edges.wel", graph.text());
    place.write("job.toml", format!("{KEEP}[input]\npath = '{}'\ndirected = true\n{tables}", path.display()));
}

fn total(report: &Value) -> &Value {
    &report["results"]["sums"]["total"]
}

#[test]
fn of_edges_of_both_directions_the_smaller_weight_stays() {
    for graph in [Graph::new(700, 9000, 1), Graph::new(300, 4000, 1 << 40)] {
        let ([_, table], found, files) = of_file(&graph, false).swap_remove(0);
        let place = Place::new();
        directed_job(&place, &graph, &table);
        for set in ["limits.threads=1", "limits.threads=3"] {
            let report = report(&place, &[set]);
            assert_eq!(*total(&report), found["total"]);
            let columns = outputs(&place.workdir());
            for (name, _, bytes) in &files {
                assert!(columns[&format!("{name}.npy")].ends_with(bytes), "{name}");
            }
            let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
            assert!(said.contains("rows of all neighbours") && said.contains("weights of type"), "{said}");
            let names = stored(&place, "work");
            assert!(
                ["lower.000000.weights", "undirected/lower.000000.weights"]
                    .iter()
                    .all(|name| names.iter().any(|n| n == name)),
                "{names:?}"
            );
            fs::remove_dir_all(place.workdir()).expect("removed");
        }
        // Killed at each file of weights, and at each merged block.
        for rule in (1..=20)
            .map(|hit| format!("weights.block={hit}:kill"))
            .chain((1..=8).map(|hit| format!("merge.block={hit}:kill")))
        {
            let ran = run(&place, &rule, &[]);
            assert!([137, 0].contains(&ran.code), "{rule}: {}", ran.err);
            assert_eq!(*total(&report(&place, &[])), found["total"], "{rule}");
            place.gpugraph(&["verify", "job.toml"]).expect(0);
            fs::remove_dir_all(place.workdir()).expect("removed");
        }
    }
}

#[test]
fn a_graph_that_was_kept_without_weights_gets_them_and_other_results_stay() {
    let graph = Graph::new(700, 9000, 1);
    for format in ["wel", "graph500"] {
        let place = Place::new();
        let path = place.write("edges.wel", graph.text());
        if format == "graph500" {
            place.gpugraph(&["convert", "edges.wel", "edges.graph500"]).expect(0);
        }
        let path = path.with_extension(format);
        let write =
            |tables: &str| place.write("job.toml", format!("{KEEP}[input]\npath = '{}'\n{tables}", path.display()));
        write("[triangle]\nper_vertex = true\n");
        let first = report(&place, &[]);
        assert_eq!(stored(&place, "work"), Vec::<String>::new(), "nobody asks for weights");
        let corners = fs::read(place.workdir().join("out/triangles.npy")).expect("a column");
        let ([table, _], found, _) = of_file(&graph, false).swap_remove(1);
        write(&format!("[triangle]\nper_vertex = true\n{table}"));
        let plan = place.gpugraph(&["plan", "job.toml", "--set", "run.device=cpu"]).expect(0).out;
        let second = report(&place, &[]);
        assert_eq!(*total(&second), found["total"], "{format}");
        assert!(resumed(&second).contains(&"triangle") && !resumed(&second).contains(&"sort"), "{plan} {second:#}");
        assert_eq!(second["results"]["triangle"], first["results"]["triangle"]);
        assert!(stored(&place, "work").iter().any(|name| name.starts_with("upper.")));
        place.gpugraph(&["verify", "job.toml"]).expect(0);
        // The same line again has nothing to do, nor has it to prepare anything for a table that reads no weights.
        let third = report(&place, &[]);
        assert_eq!(total(&third), total(&second));
        write("[triangle]\nper_vertex = true\n[sums]\n");
        let fourth = report(&place, &[]);
        assert!(PREPARING[2..].iter().all(|stage| resumed(&fourth).contains(stage)), "{fourth:#}");
        let plain = graph.answers().into_iter().find(|answer| answer.table == "[sums]\n").expect("known");
        assert_eq!(*total(&fourth), plain.found["total"]);
        assert_eq!(fs::read(place.workdir().join("out/triangles.npy")).expect("a column"), corners);
        // With the table that reads weights taken out, its results stay, and so do its weights.
        write("[triangle]\nper_vertex = true\n");
        report(&place, &[]);
        write(&format!("[triangle]\nper_vertex = true\n{table}"));
        let last = report(&place, &[]);
        assert!(PREPARING[2..].iter().all(|stage| resumed(&last).contains(stage)), "{last:#}");
        assert_eq!(*total(&last), found["total"]);
    }
}

#[test]
fn weights_of_another_type_are_other_contents() {
    let (place, graph) = (Place::new(), Graph::new(700, 9000, 1));
    let ([table, _], found, _) = of_file(&graph, false).swap_remove(0);
    job(&place, &graph, &format!("{KEEP}{table}"));
    assert_eq!(*total(&report(&place, &[])), found["total"]);
    let as_f32 = report(&place, &["input.weights=f32"]);
    assert_ne!(*total(&as_f32), found["total"]);
    // The bits of f32 of the smallest whole weights.
    let least = graph.least(false);
    let known = graph.edges().fold(0u64, |sum, (u, v)| {
        let bits = (least[&(u, v)] as f32).to_bits();
        sum.wrapping_add((graph.degree(u) * graph.degree(v)).wrapping_mul(bits.into()))
    });
    assert_eq!(*total(&as_f32), known);
    place.gpugraph(&["verify", "job.toml", "--set", "input.weights=f32"]).expect(0);
    let said = place.gpugraph(&["verify", "job.toml"]).expect(5).out;
    assert!(said.contains("weights = \"f32\""), "{said}");
    assert_eq!(*total(&report(&place, &["input.weights=u32"])), found["total"]);
}

#[test]
fn a_prepared_graph_has_the_weights_that_it_was_kept_with() {
    let (place, graph) = (Place::new(), Graph::new(700, 9000, 1));
    let path = place.write("edges.wel", graph.text());
    let keep = |weights: &str| {
        place.write("job.toml", format!("{KEEP}[input]\npath = '{}'\nweights = '{weights}'\n", path.display()));
        report(&place, &[]);
    };
    let ([lower, _], found, _) = of_file(&graph, false).swap_remove(0);
    let ([both, _], of_both, _) = of_file(&graph, false).swap_remove(1);
    keep("auto");
    assert_eq!(stored(&place, "work"), Vec::<String>::new());
    let other = |tables: &str| {
        place.write("other.toml", format!("[job]\nworkdir = 'other'\n[input]\nprepared = 'work'\n{tables}"));
        place.gpugraph(&["run", "other.toml", "--quiet", "--set", "run.device=cpu"])
    };
    let refused = other(&lower).expect(2);
    assert!(
        refused.error().contains("[sums] reads weights") && refused.error().contains("keep = true"),
        "{}",
        refused.err
    );
    assert!(place.gpugraph(&["plan", "other.toml"]).expect(2).error().contains("kept without"));
    // For other jobs weights are kept if their type is named.
    keep("u32");
    let kept = stored(&place, "work");
    assert!(!kept.is_empty() && kept.iter().all(|name| name.starts_with("lower.")), "{kept:?}");
    for (tables, known) in [(&lower, &found), (&both, &of_both)] {
        other(tables).expect(0);
        let text = fs::read_to_string(place.path("other/report.json")).expect("a report");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(*total(&report), known["total"]);
        place.gpugraph(&["verify", "other.toml"]).expect(0);
        assert_eq!(stored(&place, "other"), Vec::<String>::new(), "what was made of another's graph goes");
    }
    other("[triangle]\n").expect(0);
    // A damaged file of weights is damage of that graph.
    let file = place.workdir().join("graph").join(&kept[0]);
    let mut bytes = fs::read(&file).expect("weights");
    bytes[200] ^= 4;
    fs::write(&file, bytes).expect("written");
    assert!(other(&format!("{lower}columns = true\n")).expect(4).error().contains(&kept[0]));
}

#[test]
fn a_file_of_other_weights_is_another_input() {
    let (place, graph) = (Place::new(), Graph::new(700, 9000, 1));
    place.write("edges.wel", graph.text());
    place.gpugraph(&["convert", "edges.wel", "edges.graph500"]).expect(0);
    let ([table, _], ..) = of_file(&graph, false).swap_remove(0);
    let path = place.path("edges.graph500");
    place.write(
        "job.toml",
        format!("[job]\nworkdir = 'work'\n[input]\npath = '{}'\n[triangle]\n{table}", path.display()),
    );
    let first = report(&place, &[]);
    let weights = place.path("edges.graph500.weights");
    let bytes = fs::read(&weights).expect("weights");
    let doubled = bytes.chunks_exact(4).map(|word| 1.0 + f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    fs::write(&weights, doubled.flat_map(f32::to_le_bytes).collect::<Vec<u8>>()).expect("written");
    run(&place, "", &[]).expect(5);
    let args = ["run", "job.toml", "--quiet", "--fresh", "--set", "run.device=cpu"];
    place.gpugraph(&args).expect(0);
    assert_ne!(total(&place.read_report()), total(&first));
}

#[test]
fn what_cannot_be_read_as_weights_has_its_exit_code_place_and_remedy() {
    for (name, text, weights, code, said) in [
        ("a.txt", "0 1 2\n1 2 -3\n", "auto", 3, ["a.txt:2", "weights = \"none\""]),
        ("a.txt", "0 1 2\n1 2 nan\n", "auto", 3, ["a.txt:2", "finite"]),
        ("a.txt", "0 1 inf\n", "f32", 3, ["a.txt:1", "finite"]),
        ("a.txt", "0 1 1\n1 2 1e39\n", "f32", 3, ["a.txt:2", "largest of f32"]),
        ("a.txt", "0 1 1\n1 2 4294967296\n", "u32", 3, ["a.txt:2", "weights = \"u64\""]),
        ("a.txt", "0 1 1\n1 2 2\n0 2 0.5\n0 3 0.5\n", "u32", 3, ["a.txt:3", "weights = \"u64\""]),
        ("a.txt", "0 1 1\n1 2\n", "auto", 3, ["a.txt:2", "and a weight"]),
        ("a.txt", "0 1\n1 2\n", "f32", 2, ["a.txt", "found none"]),
        ("a.txt", "0 1\n1 2\n", "u32", 2, ["a.txt", "found none"]),
        ("a.txt", "0 1\n1 2\n", "auto", 2, ["[sums] reads", "found none"]),
        ("a.txt", "0 1 1\n", "none", 2, ["input.weights", "[sums] reads"]),
        ("a.u32", "\0\0\0\0\x01\0\0\0", "auto", 2, ["[sums] reads", "found none"]),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n",
            "auto",
            2,
            ["[sums] reads", "found none"],
        ),
    ] {
        let place = Place::new();
        let path = place.write(name, text);
        let input = format!("[input]\npath = '{}'\nweights = '{weights}'\n", path.display());
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n{input}[sums]\nweights = \"file\"\n"));
        let ran = run(&place, "", &[]).expect(code);
        assert!(said.iter().all(|part| ran.err.contains(part)), "{text}: {}", ran.err);
        // Who reads no weights does not look at them; lines have as many columns all the same.
        let code = if said.contains(&"and a weight") { 3 } else { 0 };
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n{}[sums]\n", input.replace(weights, "auto")));
        run(&place, "", &[]).expect(code);
    }
    let place = Place::new();
    place.write("a.wel", "0 1 2\n1 2 3\n");
    place.gpugraph(&["convert", "a.wel", "a.graph500"]).expect(0);
    let input = format!("[input]\npath = '{}'\n", place.path("a.graph500").display());
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n{input}[sums]\nweights = \"file\"\n"));
    place.write("a.graph500.weights", [0; 12]);
    let ran = run(&place, "", &[]).expect(3);
    assert!(ran.error().contains("a.graph500.weights") && ran.error().contains("8 bytes"), "{}", ran.err);
    let generated = "[job]\nworkdir = 'made'\n[input]\nkronecker = { scale = 6, edge_factor = 4, seed = 1 }\n";
    place.write("job.toml", format!("{generated}[sums]\nweights = \"file\"\n"));
    assert!(run(&place, "", &[]).expect(2).error().contains("[sums] reads"));
}

#[test]
fn drawn_weights_are_refused_where_their_table_is_wrong() {
    let (place, graph) = (Place::new(), Graph::new(60, 400, 1));
    for (weights, said) in [
        ("\"fil\"", "file"),
        ("true", "expected \"file\""),
        ("{ uniform = [1, 2], unit = true }", "expected \"file\""),
        ("{ unit = false }", "expected \"file\""),
        ("{ unit = true, seed = 1 }", "expected \"file\""),
        ("{ seed = 1 }", "expected \"file\""),
        ("{ uniform = [2, 1] }", "at least 0"),
        ("{ uniform = [0, 4294967296] }", "at least 0"),
        ("{ uniform = [-0.5, 1.0] }", "at least 0"),
        ("{ uniform = [0.0, 1e39] }", "at least 0"),
        ("{ uniform = [0.0, inf] }", "at least 0"),
        ("{ uniform = [nan, 1.0] }", "at least 0"),
        ("{ uniform = [1] }", "two numbers"),
        ("{ uniform = 3 }", "two numbers"),
        ("{ uniform = [1, 2], seed = -1 }", "whole number"),
        ("{ uniform = [1, 2], sead = 1 }", "\"sead\""),
    ] {
        job(&place, &graph, &format!("[sums]\nweights = {weights}\n"));
        let ran = run(&place, "", &[]).expect(2);
        assert!(ran.err.contains(said) && ran.err.contains("sums.weights"), "{weights}: {}", ran.err);
    }
    // A seed that is not named is 1.
    let total_of = |weights: &str| {
        job(&place, &graph, &format!("[sums]\nweights = {weights}\n"));
        total(&report(&place, &[])).clone()
    };
    assert_eq!(total_of("{ uniform = [1, 9] }"), total_of("{ uniform = [1, 9], seed = 1 }"));
    assert_ne!(total_of("{ uniform = [1, 9] }"), total_of("{ uniform = [1, 9], seed = 2 }"));
}

#[test]
fn a_plan_bounds_what_weights_take() {
    let graph = Graph::new(2000, 60_000, 1);
    let place = Place::new();
    let plan = || -> Value {
        let plan = place.gpugraph(&["plan", "job.toml", "--json", "--set", "run.device=cpu"]).expect(0);
        serde_json::from_str(&plan.out).expect("JSON")
    };
    directed_job(&place, &graph, "[sums]\n");
    let plain = plan();
    for table in ["[sums]\nweights = 'file'\n", "[sums]\nweights = 'file'\nupper = true\ndirection = true\n"] {
        directed_job(&place, &graph, table);
        let before = plan();
        let limit = number(&before, "host_memory_needed").next_multiple_of(1 << 20);
        let report = report(&place, &[&format!("limits.host_memory={limit}")]);
        let after = plan();
        let taken = number(&report, "limits.host_memory_peak");
        assert!(taken <= limit, "{taken} bytes of memory within {limit}");
        let graph = place.workdir().join("graph");
        let bytes = |folder: &std::path::Path| -> u64 {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
        };
        let stored = bytes(&graph) + bytes(&graph.join("undirected"));
        for plan in [&before, &after] {
            assert!(number(plan, "disk") >= stored, "{table}: {stored} bytes, {plan:#}");
        }
        // Blocks and their weights: 4 bytes more an edge.
        let disk = |plan: &Value| {
            plan["stages"].as_array().expect("stages").iter().find(|s| s["name"] == "sort").expect("sort")["disk"]
                .clone()
        };
        assert!(disk(&before).as_u64().expect("bytes") >= disk(&plain).as_u64().expect("bytes") + 4 * 60_000);
        fs::remove_dir_all(place.workdir()).expect("removed");
    }
}

#[test]
fn a_gpu_carries_weights() {
    let Some(gpu) = Gpu::new() else { return };
    let graph = Graph::new(300, 4000, 1);
    let ([table, _], found, _) = of_file(&graph, false).swap_remove(1);
    job(&gpu.place, &graph, &table);
    let ran =
        gpu.with(&[], &["run", "job.toml", "--set", "run.device=gpu", "--set", "limits.gpu_memory=64MiB"]).expect(0);
    assert!(!ran.err.contains("on the CPU"), "{}", ran.err);
    assert_eq!(*total(&gpu.place.read_report()), found["total"]);
}

#[test]
fn a_graph_without_edges_has_weights_of_any_type() {
    for (text, vertices) in [("", 0), ("0 0 1.5\n1 1 2\n", 2)] {
        let place = Place::new();
        let path = place.write("edges.wel", text);
        for table in ["weights = 'file'", "weights = 'file'\nupper = true", "weights = { unit = true }"] {
            place.write("job.toml", format!("{KEEP}[input]\npath = '{}'\n[sums]\n{table}\n", path.display()));
            let report = report(&place, &[]);
            assert_eq!((total(&report), number(&report, "graph.vertices")), (&Value::from(0), vertices), "{table}");
            place.gpugraph(&["verify", "job.toml"]).expect(0);
        }
    }
}

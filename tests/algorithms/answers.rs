//! Every algorithm on every device, by ranks, threads and within limits: one answer, that of the oracle.

use gpugraph::internals::algo::ALGORITHMS;
use serde_json::Value;

use crate::oracle::{Answer, Graph};
use crate::support::gpu::Gpu;
use crate::support::mpi::{built, mpirun};
use crate::support::{Place, Ran, number};
use crate::{job, outputs, report};

/// The graphs: ids from 0 on, and ids that are numbered by a list, half of which are negative as i64.
fn graphs() -> [Graph; 2] {
    [Graph::new(700, 9000, 1), Graph::new(300, 4000, u64::MAX / 303)]
}

/// Returns true if all that is known was found, also in objects in lists.
fn has(found: &Value, known: &Value) -> bool {
    match (found, known) {
        (Value::Object(found), Value::Object(known)) => {
            known.iter().all(|(key, known)| found.get(key).is_some_and(|found| has(found, known)))
        }
        (Value::Array(found), Value::Array(known)) => {
            found.len() == known.len() && found.iter().zip(known).all(|(found, known)| has(found, known))
        }
        _ => found == known,
    }
}

/// Fails unless the task of `answer` left what it must, and nothing else is in `out` where it is the only one.
#[track_caller]
fn holds(how: &str, place: &Place, report: &Value, answer: &Answer, alone: bool) {
    let name = answer.table[1..].split(']').next().expect("a table");
    let found = &report["results"][name];
    for (field, known) in answer.found.as_object().expect("fields") {
        assert!(has(&found[field], known), "{how}: {name}.{field} is {}, not {known}", found[field]);
    }
    assert!(found["seconds"].as_f64() >= Some(0.0) && found["trials"].is_array(), "{how}: {found}");
    let files = outputs(&place.workdir());
    for (column, (descr, bytes)) in &answer.columns {
        let file = files.get(&format!("{column}.npy")).unwrap_or_else(|| panic!("{how}: {column} is not there"));
        let header = String::from_utf8_lossy(&file[..128.min(file.len())]);
        assert!(header.contains(&format!("'descr': '{descr}'")), "{how}: {column} is {header}");
        assert!(file.ends_with(bytes) && file.len() == 128 + bytes.len(), "{how}: {column} has other values");
    }
    assert!(!alone || files.len() == answer.columns.len(), "{how}: {:?}", files.keys());
}

#[test]
fn the_oracle_knows_every_algorithm_on_graphs() {
    let tables: Vec<String> = graphs()[0].answers().into_iter().map(|answer| answer.table).collect();
    for algorithm in ALGORITHMS.iter().filter(|algorithm| !algorithm.is_on_list) {
        let table = format!("[{}]", algorithm.name);
        assert!(tables.iter().any(|known| known.starts_with(&table)), "add {table} to tests/algorithms/oracle.rs");
    }
}

#[test]
fn one_process_by_threads_and_limits() {
    for (at, graph) in graphs().into_iter().enumerate() {
        for answer in graph.answers() {
            let place = Place::new();
            job(&place, &graph, &answer.table);
            let plan = place.gpugraph(&["plan", "job.toml", "--json", "--set", "run.device=cpu"]).expect(0);
            let plan: Value = serde_json::from_str(&plan.out).expect("JSON");
            let least = format!("limits.host_memory={}", number(&plan, "host_memory_needed").next_multiple_of(1 << 20));
            let threads = ["limits.threads=1", "limits.threads=3"][at];
            for set in [&[threads][..], &["limits.threads=2", &least]] {
                let report = report(&place, set);
                holds(&format!("{set:?}"), &place, &report, &answer, true);
                let verified = place.gpugraph(&["verify", "job.toml"]).expect(0);
                assert!(!verified.out.contains("FAILED"), "{}", verified.out);
                std::fs::remove_dir_all(place.workdir()).expect("removed");
            }
        }
    }
}

#[test]
fn gpu_with_much_and_little_memory() {
    let Some(gpu) = Gpu::new() else { return };
    // Each table has one graph with little memory and the other with much.
    for (at, graph) in graphs().into_iter().enumerate() {
        for (number, answer) in graph.answers().into_iter().enumerate() {
            job(&gpu.place, &graph, &answer.table);
            let memory = ["2MiB", "64MiB"][(at + number / 2) % 2];
            let report = gpu.fresh(&["run.device=gpu", &format!("limits.gpu_memory={memory}")]);
            holds(&format!("a GPU of {memory}"), &gpu.place, &report, &answer, true);
        }
    }
}

#[test]
fn ranks_of_every_number() {
    let Some(built) = built().into_iter().next() else { return };
    // Each table has one graph with two ranks and the other with three.
    let graphs = graphs();
    let mut cases = Vec::new();
    for (at, graph) in graphs.iter().enumerate() {
        let answers = graph.answers().into_iter().enumerate();
        cases.extend(answers.map(|(number_of, answer)| (2 + (at + number_of / 2) % 2, graph, answer)));
    }
    let run = |(ranks, graph, answer): &(usize, &Graph, Answer)| {
        let (place, ranks) = (Place::new(), *ranks);
        job(&place, graph, &answer.table);
        let args = ["run", "job.toml", "--quiet", "--set", "run.device=cpu"];
        Ran::command(&mut mpirun(&place, built, ranks, 120, &built.gpugraph, &args)).expect(0);
        let report = place.read_report();
        assert_eq!(number(&report, "ranks"), ranks as u64);
        holds(&format!("{ranks} ranks"), &place, &report, answer, true);
    };
    // Two at a time, because most of the time goes with waiting for mpirun.
    std::thread::scope(|scope| {
        for part in 0..2 {
            let (cases, run) = (&cases, &run);
            scope.spawn(move || cases.iter().skip(part).step_by(2).for_each(run));
        }
    });
}

/// Each table of a job computes what it does alone, on one device as on two.
#[test]
fn tables_of_one_job_have_the_answers_that_each_has_alone() {
    // With direction, triangles are those of the edges without it.
    for (graph, keeps) in graphs().into_iter().flat_map(|graph| [false, true].map(|keeps| (graph.clone(), keeps))) {
        let answers = graph.answers();
        let is_meant = |answer: &&Answer| {
            let fits = answer.table.contains("direction") == keeps || answer.table.starts_with("[triangle]");
            !answer.columns.is_empty() && !["upper", "weights"].iter().any(|other| answer.table.contains(other)) && fits
        };
        let with_columns: Vec<&Answer> = answers.iter().filter(is_meant).collect();
        let tables: String = with_columns.iter().map(|answer| answer.table.as_str()).collect();
        let place = Place::new();
        job(&place, &graph, &tables);
        let on_cpu = report(&place, &["run.trials=2"]);
        with_columns.iter().for_each(|answer| holds("one process", &place, &on_cpu, answer, false));
        assert!(
            on_cpu["results"]
                .as_object()
                .expect("results")
                .values()
                .all(|r| r["trials"].as_array().map(Vec::len) == Some(2))
        );
        place.gpugraph(&["verify", "job.toml"]).expect(0);
        let Some(gpu) = Gpu::new() else { continue };
        job(&gpu.place, &graph, &tables);
        let on_gpu = gpu.fresh(&["run.device=gpu", "limits.gpu_memory=8MiB"]);
        with_columns.iter().for_each(|answer| holds("a GPU", &gpu.place, &on_gpu, answer, false));
    }
}

//! Every algorithm on every device, by ranks, threads and within limits: one answer, that of the oracle.

use std::sync::OnceLock;

use gpugraph::internals::algo::ALGORITHMS;
use serde_json::Value;

use crate::oracle::{Answer, Graph};
use crate::support::gpu::Gpu;
use crate::support::mpi::{built, mpirun};
use crate::support::{Place, Ran, number};
use crate::{job, outputs, report};

/// The graphs and their answers, computed once: ids from 0 on, and ids that are numbered by a list, half of which are negative as i64.
fn graphs() -> &'static [(Graph, Vec<Answer>); 2] {
    static GRAPHS: OnceLock<[(Graph, Vec<Answer>); 2]> = OnceLock::new();
    GRAPHS.get_or_init(|| {
        [Graph::new(700, 9000, 1), Graph::new(300, 4000, u64::MAX / 303)].map(|graph| {
            let answers = graph.answers();
            (graph, answers)
        })
    })
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
    let tables: Vec<&str> = graphs()[0].1.iter().map(|answer| answer.table.as_str()).collect();
    for algorithm in ALGORITHMS.iter().filter(|algorithm| !algorithm.is_on_list) {
        let table = format!("[{}]", algorithm.name);
        assert!(tables.iter().any(|known| known.starts_with(&table)), "add {table} to tests/algorithms/oracle.rs");
    }
}

#[test]
fn one_process_by_threads_and_limits() {
    // Each table has one graph with some threads and the other with the least memory.
    for (at, (graph, answers)) in graphs().iter().enumerate() {
        for answer in answers {
            let place = Place::new();
            job(&place, graph, &answer.table);
            let plan = place.gpugraph(&["plan", "job.toml", "--json", "--set", "run.device=cpu"]).expect(0);
            let plan: Value = serde_json::from_str(&plan.out).expect("JSON");
            let least = format!("limits.host_memory={}", number(&plan, "host_memory_needed").next_multiple_of(1 << 20));
            let (many, limited) = (["limits.threads=3"], ["limits.threads=2", &least]);
            let set: &[&str] = if at == 0 { &many } else { &limited };
            let report = report(&place, set);
            holds(&format!("{set:?}"), &place, &report, answer, true);
            let verified = place.gpugraph(&["verify", "job.toml"]).expect(0);
            assert!(!verified.out.contains("FAILED"), "{}", verified.out);
        }
    }
}

/// Jobs that together have every table that writes columns, each as often as there are answers to it. Tables of a job keep direction or do not;
/// with direction, triangles are those of the edges without it.
fn jobs(answers: &[Answer]) -> Vec<Vec<&Answer>> {
    let name = |answer: &Answer| answer.table.split(']').next().expect("a table").to_owned();
    let keeps = |answer: &Answer| answer.table.contains("direction = true");
    let mut jobs: Vec<Vec<&Answer>> = Vec::new();
    for answer in answers.iter().filter(|answer| !answer.columns.is_empty()) {
        let fits = |job: &&mut Vec<&Answer>| {
            job.iter().all(|other| name(other) != name(answer)) && keeps(job[0]) == keeps(answer)
        };
        match jobs.iter_mut().find(fits) {
            Some(job) => job.push(answer),
            None => jobs.push(vec![answer]),
        }
    }
    jobs
}

fn tables(answers: &[&Answer]) -> String {
    answers.iter().map(|answer| answer.table.as_str()).collect()
}

#[test]
fn gpu_with_much_and_little_memory() {
    let Some(gpu) = Gpu::new() else { return };
    // Each table has one graph with little memory and the other with much.
    for (at, (graph, answers)) in graphs().iter().enumerate() {
        for (number, answers) in jobs(answers).into_iter().enumerate() {
            job(&gpu.place, graph, &tables(&answers));
            let memory = ["2MiB", "64MiB"][(at + number) % 2];
            let report = gpu.fresh(&["run.device=gpu", &format!("limits.gpu_memory={memory}")]);
            answers.iter().for_each(|answer| holds(&format!("a GPU of {memory}"), &gpu.place, &report, answer, false));
        }
    }
}

#[test]
fn ranks_of_every_number() {
    let Some(built) = built().into_iter().next() else { return };
    // Each table has one graph with two ranks and the other with three.
    for (at, (graph, answers)) in graphs().iter().enumerate() {
        for (number_of, answers) in jobs(answers).into_iter().enumerate() {
            let (place, ranks) = (Place::new(), 2 + (at + number_of) % 2);
            job(&place, graph, &tables(&answers));
            let args = ["run", "job.toml", "--quiet", "--set", "run.device=cpu"];
            Ran::command(&mut mpirun(&place, built, ranks, 120, &built.gpugraph, &args)).expect(0);
            let report = place.read_report();
            assert_eq!(number(&report, "ranks"), ranks as u64);
            answers.iter().for_each(|answer| holds(&format!("{ranks} ranks"), &place, &report, answer, false));
        }
    }
}

/// Each table of a job computes in each of two trials what it does alone.
#[test]
fn tables_of_one_job_have_the_answers_that_each_has_alone() {
    for (graph, answers) in graphs() {
        for answers in jobs(answers).into_iter().filter(|answers| answers.len() > 1) {
            let place = Place::new();
            job(&place, graph, &tables(&answers));
            let report = report(&place, &["run.trials=2"]);
            answers.iter().for_each(|answer| holds("one process", &place, &report, answer, false));
            let results = report["results"].as_object().expect("results");
            assert!(results.values().all(|result| result["trials"].as_array().map(Vec::len) == Some(2)));
            place.gpugraph(&["verify", "job.toml"]).expect(0);
        }
    }
}

//! Jobs of two tables that die in each and between them: what was done stays done, and the answers are those of a job that lived.

use serde_json::Value;

use crate::oracle::Graph;
use crate::support::{Place, number, resumed};
use crate::{BOTH, job, outputs, report, run};

/// A graph of eight blocks.
fn large() -> Graph {
    Graph::new(2000, 32_000, 1)
}

/// What may not depend on how the job ran.
fn results(report: &Value) -> Value {
    let mut results = report["results"].clone();
    for task in results.as_object_mut().expect("results").values_mut() {
        let fields = task.as_object_mut().expect("fields");
        ["seconds", "trials", "pairs"].into_iter().for_each(|field| drop(fields.remove(field)));
    }
    results
}

#[test]
fn killed_in_each_table_and_between_the_answers_are_those_of_a_job_that_lived() {
    let directed = "# direction = true\n[triangle]\nclustering = 'directed'\n[sums]\n";
    let edges = "[triangle]\nper_edge = true\n[sums]\n";
    for tables in ["[triangle]\n[sums]\n", BOTH, directed, edges] {
        let graph = large();
        let place = Place::new();
        job(&place, &graph, tables);
        let lived = report(&place, &["run.trials=2"]);
        let files = outputs(&place.workdir());
        // In a unit of the first trial of each, of the second, while files are made durable, and as the manifest is saved.
        let mut rules: Vec<String> =
            ["unit.done=2", "sums.unit=2", "sums.unit=9", "out.fsync=1", "out.rename=3"].map(String::from).into();
        rules.extend((1..=12).map(|hit| format!("replace.rename={hit}")));
        for rule in rules {
            std::fs::remove_dir_all(place.workdir()).expect("removed");
            let ran = run(&place, &format!("{rule}:kill"), &["run.trials=2"]);
            assert!([137, 0].contains(&ran.code), "{rule}: {}", ran.err);
            let after = report(&place, &["run.trials=2"]);
            assert_eq!(results(&after), results(&lived), "{rule}");
            assert_eq!(outputs(&place.workdir()), files, "{rule}");
            if rule.starts_with("sums.unit") {
                assert!(resumed(&after).contains(&"triangle"), "{rule}: {after:#}");
                assert!(ran.code == 137 && number(&after, "resumes") == 1, "{rule}");
            }
            place.gpugraph(&["verify", "job.toml"]).expect(0);
        }
    }
}

#[test]
fn stopped_in_the_second_table_it_goes_on_there() {
    let (place, graph) = (Place::new(), large());
    job(&place, &graph, BOTH);
    let count = place.path("hits");
    let hits = |failpoints: &str| {
        let args = ["run", "job.toml", "--quiet", "--set", "run.device=cpu"];
        let mut command = place.command(&args);
        let ran = command.env("GPUGRAPH_FAILPOINTS", failpoints).env("GPUGRAPH_FAILPOINTS_COUNT", &count).output();
        let code = ran.expect("run gpugraph").status.code();
        let text = std::fs::read_to_string(&count).expect("counts");
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map_or(0, |hits| hits.trim().parse::<u64>().expect("a number"))
        };
        (code, of("unit.done "), of("sums.unit "))
    };
    let (code, units, sums) = hits("sums.unit=3:stop");
    assert_eq!((code, sums), (Some(75), 3));
    assert!(units > 0);
    let (code, again, rest) = hits("");
    assert_eq!((code, again), (Some(0), 0), "triangles were counted again");
    let report = place.read_report();
    assert!(rest > 0 && number(&report, "resumes") == 1);
    let (_, expected, _) = graph.sums_of("", false, &|_, _| 1);
    assert_eq!(report["results"]["sums"]["total"], expected["total"]);
}

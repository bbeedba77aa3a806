//! Shortest paths where rows sorted by weight do not fit memory: the same files, and nothing else is left of them.

use std::fs;

use crate::outputs;
use crate::support::Place;

const JOB: &str = "[job]\nworkdir = 'work'\n[input]\nkronecker = { scale = 17, edge_factor = 32, seed = 1 }\n\
                   [limits]\nthreads = 2\n[sssp]\nroots = 2\nwrite = true\nweights = { uniform = [1, 255], seed = 1 }\n";
const IN_A_FILE: &str = "rows sorted by weight are in a file";

#[test]
fn rows_in_a_file_lead_to_the_same_distances_and_parents() {
    let place = Place::new();
    place.write("job.toml", JOB);
    let run = |limit: &str, method: &str, failpoints: &str| {
        let (limit, method) = (format!("limits.host_memory={limit}"), format!("sssp.method={method}"));
        let args = ["run", "job.toml", "--set", "run.device=cpu", "--set", &limit, "--set", &method];
        let ran = place.command(&args).env("GPUGRAPH_FAILPOINTS", failpoints).output().expect("run gpugraph");
        (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
    };
    let (code, said) = run("1GiB", "auto", "");
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains(IN_A_FILE), "{said}");
    let files = outputs(&place.workdir());
    assert_eq!(files.len(), 2 * 2);
    // Of rows in a file, memory has some entries or none.
    let (some, none) = ("48MiB", "40560KiB");
    let cases =
        [(some, "auto", ""), (none, "auto", ""), (none, "bellman-ford", ""), (some, "auto", "sssp.source=1:kill")];
    for (limit, method, failpoints) in cases {
        fs::remove_dir_all(place.workdir()).expect("removed");
        if !failpoints.is_empty() {
            let (code, said) = run(limit, method, failpoints);
            assert_eq!(code, None, "{said}");
        }
        let (code, said) = run(limit, method, "");
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(IN_A_FILE), "{said}");
        assert_eq!(said.contains("keeps 0 of"), limit == none, "{said}");
        assert_eq!(outputs(&place.workdir()), files, "{method}");
        let left: Vec<_> = fs::read_dir(place.workdir().join("units")).into_iter().flatten().flatten().collect();
        assert!(!left.iter().any(|entry| entry.path().is_dir()), "{left:?}");
    }
}

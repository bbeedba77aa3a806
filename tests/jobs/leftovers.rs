//! Results of stopped runs, of other formats and of other jobs: none is mistaken for a result of this job, and none is lost without a word.

use crate::support::{Place, files};
use std::fs;

const EDGES: &str = "0 1\n1 2\n2 0\n2 3\n3 4\n";

/// A place with a graph and a job of these tables on it.
fn place(tables: &str) -> Place {
    let place = Place::new();
    place.write("g.txt", EDGES);
    write_job(&place, "path = 'g.txt'", tables);
    place
}

fn write_job(place: &Place, input: &str, tables: &str) {
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\n{tables}"));
}

/// The result files, by their paths below `out`.
fn results(place: &Place) -> Vec<String> {
    files(&place.workdir(), &["out"]).into_keys().collect()
}

#[test]
fn sources_that_were_searched_before_are_written_in_the_format_of_now() {
    for table in ["bfs", "traverse"] {
        for (before, now) in [("npy", "csv"), ("parquet", "npy"), ("csv", "parquet")] {
            let set = |format: &str| format!("output.format={format}");
            let place = place(&format!("[{table}]\nsources = [0, 1, 2]\nwrite = true\n"));
            place.run_failing(&format!("{table}.source=2:stop"), &["--set", &set(before)]).expect(75);
            place.run(&["--set", &set(now)]).expect(0);
            let found = results(&place);
            place.run(&["--fresh", "--set", &set(now)]).expect(0);
            assert_eq!(found, results(&place), "{table} {before} {now}");
        }
    }
    // A column that was written, but not recorded.
    let cores = place("[cores]\n");
    cores.run_failing("replace.create=8:kill", &["--set", "output.format=csv"]);
    cores.run(&["--set", "output.format=parquet"]).expect(0);
    assert_eq!(results(&cores).iter().filter(|file| file.ends_with("csv")).count(), 0, "{:?}", results(&cores));
}

#[test]
fn tables_of_another_input_do_not_stay_after_a_killed_run() {
    let place = place("[bfs]\nsources = [0, 1]\nwrite = true\n[output]\nformat = 'parquet'\n");
    place.run_failing("bfs.source=1:kill", &[]);
    assert!(results(&place).iter().any(|file| file.ends_with("bfs/0.parquet")), "{:?}", results(&place));
    place.write("g.txt", "0 1\n1 2\n2 4\n2 3\n3 4\n");
    place.run(&["--set", "bfs.sources=[2]"]).expect(0);
    let found = results(&place);
    assert!(found.iter().all(|file| !file.contains("bfs/0") && !file.contains("bfs/1")), "{found:?}");
}

#[test]
fn finished_results_with_another_first_id_are_refused() {
    let place = Place::new();
    place.write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n5 5 5\n1 2\n2 3\n3 1\n3 4\n4 5\n");
    write_job(&place, "path = 'g.mtx'", "[triangle]\nper_vertex = true\n");
    place.run(&[]).expect(0);
    let before = files(&place.workdir(), &["out"]);
    write_job(&place, "path = 'g.mtx'\nfirst_id = 1", "[components]\n");
    let refused = place.run(&[]).expect(5);
    assert!(refused.error().contains("first_id"), "{}", refused.err);
    assert_eq!(files(&place.workdir(), &["out"]), before);
    // The same table is replaced.
    write_job(&place, "path = 'g.mtx'\nfirst_id = 1", "[triangle]\nper_vertex = true\n");
    place.run(&[]).expect(0);
    assert_ne!(files(&place.workdir(), &["out"]), before);
}

#[test]
fn results_of_a_damaged_manifest_are_made_again_or_removed() {
    let place = place("[cores]\n");
    place.write("g.txt", "5 7000000000\n7000000000 9000000000\n");
    place.run(&[]).expect(0);
    assert!(results(&place).iter().any(|file| file.ends_with("ids.npy")));
    let manifest = place.workdir().join("manifest.json");
    let mut bytes = fs::read(&manifest).expect("a manifest");
    bytes[100] ^= 1;
    fs::write(&manifest, bytes).expect("write");
    place.write("g.txt", "0 1\n1 2\n2 0\n");
    write_job(&place, "path = 'g.txt'", "[components]\n");
    place.run(&[]).expect(0);
    assert_eq!(results(&place), ["out/components/component.npy"]);
}

#[test]
fn verify_asks_for_all_tables() {
    let place = place("[cores]\n");
    place.run(&[]).expect(0);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    write_job(&place, "path = 'g.txt'", "[cores]\n[components]\n");
    let said = place.gpugraph(&["verify", "job.toml"]).expect(5);
    assert!(said.out.contains("[components]") || said.err.contains("[components]"), "{}{}", said.out, said.err);
}

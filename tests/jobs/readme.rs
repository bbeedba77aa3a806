//! What README.md shows runs as it is written there: every `sh` line, in a folder that holds what a clone does, and
//! every job file.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::Place;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The blocks of one language in README.md, with the line each starts at.
fn blocks(language: &str) -> Vec<(usize, String)> {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(tag) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
        if tag == language {
            found.push((number + 2, block.join("\n")));
        }
    }
    found
}

fn copy(name: &str, place: &Place) {
    fs::create_dir_all(place.path(name)).expect("a folder");
    for entry in fs::read_dir(root().join(name)).expect("a folder").map(|entry| entry.expect("an entry")) {
        if entry.path().is_file() {
            fs::copy(entry.path(), place.path(name).join(entry.file_name())).expect("copy");
        }
    }
}

#[test]
fn every_command_line_runs_as_written() {
    let place = Place::new();
    copy("configs", &place);
    copy("tests/data", &place);
    // The command as installed, found by its name.
    let folder = Path::new(env!("CARGO_BIN_EXE_gpugraph")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut seen = 0;
    for (start, block) in blocks("sh") {
        for (number, line) in block.replace("\\\n", " ").lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at = format!("README.md:{}: {line}", start + number);
            // A test that runs all tests would run itself; a line that says it is big takes hours.
            if line.starts_with("bash tests/run") {
                assert!(root().join("tests/run").is_file(), "{at}");
                continue;
            }
            // Ranks have tests of their own, where there is an MPI.
            let elsewhere = ["cargo install", "cargo bench", "cargo build", "mpirun "];
            if line.contains("# big") || elsewhere.iter().any(|command| line.starts_with(command)) {
                println!("not run: {at}");
                continue;
            }
            // tests/slurm and tests/pbs submit them.
            if line.contains("sbatch ") || line.starts_with("qsub ") {
                let script = line.split_whitespace().last().unwrap_or_default();
                assert!(root().join(script).is_file(), "{at}");
                continue;
            }
            let line = line.replace("cargo run --release -- ", "gpugraph ");
            assert!(line.starts_with("gpugraph "), "{at}: a command this test does not know");
            let mut shell = Command::new("bash");
            shell.args(["-c", &line]).current_dir(place.path("")).env("PATH", &path);
            let output = shell.output().expect("run");
            assert!(output.status.success(), "{at}: {}", String::from_utf8_lossy(&output.stderr));
            seen += 1;
        }
    }
    assert!(seen >= 2, "README.md shows {seen} commands");
    assert!(place.path("gpugraph.work/quickstart/report.json").is_file(), "the quickstart leaves its report");
}

#[test]
fn every_job_file_shown_is_one() {
    let place = Place::new();
    let mut seen = 0;
    for (start, block) in blocks("toml") {
        // A variable that a test machine may lack.
        let file = place.write("job.toml", block.replace("$USER", "me"));
        gpugraph::config::load(&file, &[]).unwrap_or_else(|e| panic!("README.md:{start}: {e}"));
        seen += 1;
    }
    assert!(seen > 0, "README.md shows no job file");
}

//! The example for Snakemake, run by the real program. That for Nextflow is not run: no package registry has the program itself.

use std::path::Path;
use std::process::Command;

use crate::site::{Kind, REPO, Site};
use crate::support::Ran;

/// Snakemake, on the path or in the virtual environment that `tests/run` makes.
fn snakemake(site: &Site, config: &[&str]) -> Option<Command> {
    let own = Path::new(REPO).join(".venv/bin/snakemake");
    let name = if own.is_file() { own.display().to_string() } else { "snakemake".to_owned() };
    if !Command::new(&name).arg("--version").output().is_ok_and(|ran| ran.status.success()) {
        println!("SKIPPED: no snakemake on the path");
        return None;
    }
    let mut command = site.on(&name);
    command.arg("-s").arg(Path::new(REPO).join("examples/snakemake/Snakefile"));
    // What it keeps of its own goes with the place.
    command.env("XDG_CACHE_HOME", site.place.path("cache")).args(["--cores", "2", "--config"]).args(config);
    Some(command)
}

#[test]
fn snakemake_carries_on_after_exit_75() {
    let Some(site) = Site::start(Kind::Flux) else { return };
    let answer = site.slow_job(1);
    let config =
        ["job=job.toml", "gpugraph=./slow", "work=its work", "report=its report.json", "seconds=3", "retries=9"];
    let Some(mut command) = snakemake(&site, &config) else { return };
    let ran = Ran::command(&mut command).expect(0);
    assert!(ran.err.contains("stopped by SIGUSR1") && ran.err.contains("Trying to restart"), "{}", ran.err);
    assert_eq!(site.triangles("its work"), answer);
    let report = std::fs::read_to_string(site.place.path("its report.json")).expect("a report");
    assert!(report.contains("\"resumes\": 1"), "{report}");
}

#[test]
fn snakemake_does_not_repeat_what_failed() {
    let Some(site) = Site::start(Kind::Flux) else { return };
    site.command("fails", "echo >>calls; exit 3");
    site.place.write("job.toml", "");
    let Some(mut command) = snakemake(&site, &["job=job.toml", "gpugraph=./fails", "work=work", "retries=2"]) else {
        return;
    };
    let ran = Ran::command(&mut command);
    assert_ne!(ran.code, 0);
    assert_eq!(std::fs::read_to_string(site.place.path("calls")).expect("calls"), "\n", "{}", ran.err);
}

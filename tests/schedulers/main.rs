//! Job scripts under Grid Engine, LSF and Flux, the launchers of Cray and of LSF, staging, and workflow managers.
//!
//! Grid Engine is a real one that each test starts in a folder. LSF, Flux, PALS and jsrun are stand-ins: bash scripts that know what the
//! manuals say.

#[path = "../support/mod.rs"]
mod support;

#[path = "../slurm/daemons.rs"]
#[allow(dead_code)] // tests/slurm uses the rest
mod daemons;
mod launchers;
mod site;
mod stage;
mod workflows;

use site::{Kind, Site};

/// With -notify, Grid Engine sends USR2 ahead of KILL.
#[test]
fn at_its_h_rt_without_warning_a_run_saves() {
    let Some(site) = Site::start(Kind::GridEngine) else { return };
    let answer = site.slow_job(1);
    let variables = [("CONFIG", "job.toml"), ("GPUGRAPH", "./slow"), ("GRACE", "0")];
    site.submit(&variables, 10, None);
    let log = site.end();
    assert!(log.contains("exit 75 after") && log.contains("deleted, or at its walltime: not started again"), "{log}");
    assert!(site.units() > 0, "{log}");
    site.submit(&variables, 3600, None);
    assert!(site.end().contains("exit 0 after"), "{}", site.log());
    assert_eq!(site.triangles("my work"), answer);
}

/// Each of these for each scheduler.
macro_rules! under_each {
    ($($name:ident)*) => {
        mod gridengine {
            $(#[test] fn $name() { if let Some(site) = super::Site::start(super::Kind::GridEngine) { super::$name(&site) } })*
        }
        mod lsf {
            $(#[test] fn $name() { if let Some(site) = super::Site::start(super::Kind::Lsf) { super::$name(&site) } })*
        }
        mod flux {
            $(#[test] fn $name() { if let Some(site) = super::Site::start(super::Kind::Flux) { super::$name(&site) } })*
        }
    };
}

under_each! {
    the_script_runs_as_it_stands
    a_job_longer_than_its_time_goes_on_until_it_is_done
    a_cancelled_job_stays_so_and_the_same_line_carries_on
    tasks_of_an_array_go_on_as_themselves
    three_slices_that_bring_the_job_no_further_end_it
}

fn the_script_runs_as_it_stands(site: &Site) {
    site.submit(&[("CONFIG", "configs/triangle.toml")], 3600, None);
    let log = site.end();
    assert!(
        log.contains("1 nodes, 1 ranks of 8 threads (launcher: none), restart 0") && log.contains("exit 0 after"),
        "{log}"
    );
    // Zachary's karate club.
    assert_eq!(site.triangles("gpugraph.work/karate"), 45);
}

fn a_job_longer_than_its_time_goes_on_until_it_is_done(site: &Site) {
    let answer = site.slow_job(2);
    site.submit(&[("CONFIG", "job.toml"), ("GPUGRAPH", "./slow"), ("GRACE", "12")], 20, None);
    let log = site.end();
    for (text, times) in [("the walltime is near", 2), ("exit 75 after", 2), (site.goes_on(), 2), ("exit 0 after", 1)] {
        assert_eq!(log.matches(text).count(), times, "{text}: {log}");
    }
    assert_eq!(site.triangles("my work"), answer);
    let report = std::fs::read_to_string(site.place.path("my work/report.json")).expect("a report");
    assert!(report.contains("\"resumes\": 2"), "{report}");
}

fn a_cancelled_job_stays_so_and_the_same_line_carries_on(site: &Site) {
    let answer = site.slow_job(1);
    let variables = [("CONFIG", "job.toml"), ("GPUGRAPH", "./slow")];
    let job = site.submit(&variables, 3600, None);
    site.until("unit", |site| site.units() > 0);
    site.cancel(&job);
    let log = site.end();
    assert!(log.contains("exit 75 after") && !log.contains(site.goes_on()), "{log}");
    assert!(log.contains("not started again") || log.contains("not submitted again"), "{log}");
    let units = site.units();
    assert!(units > 0, "{log}");
    site.submit(&variables, 3600, None);
    let log = site.end();
    assert_eq!(log.matches("exit 0 after").count(), 1, "{log}");
    assert_eq!(site.triangles("my work"), answer);
}

fn tasks_of_an_array_go_on_as_themselves(site: &Site) {
    site.runs("ends", "echo \"ran: $*\"; exit 75");
    for task in [3, 4] {
        site.place.write(&format!("job{task}.toml"), "[job]\nname = 'x'\n[input]\npath = 'x.u32'\n[triangle]\n");
    }
    let variables =
        [("CONFIG", "job%a.toml"), ("GPUGRAPH", "./ends"), ("MAX_RESTARTS", "1"), ("SET", "job.workdir=w/%a")];
    site.submit(&variables, 3600, Some((3, 4)));
    let log = site.end();
    for task in [3, 4] {
        let ran = format!("ran: run --wait job{task}.toml --set job.workdir=w/{task}\n");
        assert_eq!(log.matches(&ran).count(), 2, "{ran}{log}");
    }
    assert_eq!(log.matches("MAX_RESTARTS=1 is reached").count(), 2, "{log}");
}

fn three_slices_that_bring_the_job_no_further_end_it(site: &Site) {
    site.runs("idle", "trap 'exit 75' USR1; sleep 60 & wait");
    site.place.job("path = 'x.u32'", "");
    site.submit(&[("CONFIG", "job.toml"), ("GPUGRAPH", "./idle"), ("GRACE", "8")], 16, None);
    let log = site.end();
    assert_eq!(log.matches("3 slices in a row brought the job no further").count(), 1, "{log}");
    assert_eq!((log.matches("exit 75 after").count(), log.matches(site.goes_on()).count()), (3, 2), "{log}");
    // What was noted between them is gone.
    let files = std::fs::read_dir(site.place.path("")).expect("a folder").flatten();
    let left: Vec<_> =
        files.map(|file| file.file_name()).filter(|name| name.to_string_lossy().ends_with(".starts")).collect();
    assert_eq!(left, Vec::<std::ffi::OsString>::new());
}

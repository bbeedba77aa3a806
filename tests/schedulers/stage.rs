//! The workdir on a disk of the node. Under a real Grid Engine, a real Slurm and the stand-in for Flux.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::daemons::Slurm;
use crate::site::{Kind, Site};
use crate::support::{oracle, random_edges, root, triangles};

fn folder(site: &Site, name: &str) -> String {
    let path = site.place.path(name);
    fs::create_dir_all(&path).expect("a folder");
    path.display().to_string()
}

/// Names beside the workdir that staging made.
fn beside(site: &Site) -> Vec<String> {
    let files = fs::read_dir(site.place.path("")).expect("a folder").flatten();
    let names = files.map(|file| file.file_name().into_string().expect("a name"));
    names.filter(|name| name.starts_with("my work.") && name != "my work.staging").collect()
}

/// Whether a run below this folder has journalled units of a count.
fn has_units(folder: &Path) -> bool {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.into_iter().any(|path| match path.is_dir() {
        true => has_units(&path),
        false => path.file_name().is_some_and(|name| name == "triangle.0"),
    })
}

fn is_empty(folder: &str) -> bool {
    fs::read_dir(folder).expect("a folder").next().is_none()
}

fn a_staged_job_goes_on_until_it_is_done(kind: Kind) {
    let Some(site) = Site::start(kind) else { return };
    let answer = site.slow_job(1);
    let disk = folder(&site, "a node's disk");
    site.submit(&[("CONFIG", "job.toml"), ("GPUGRAPH", "./slow"), ("GRACE", "8"), ("STAGE", &disk)], 16, None);
    let log = site.end();
    for (text, times) in
        [("staged my work", 2), ("copied back to my work", 2), ("exit 75 after", 1), ("exit 0 after", 1)]
    {
        assert_eq!(log.matches(text).count(), times, "{text}: {log}");
    }
    assert_eq!(site.triangles("my work"), answer);
    let report = fs::read_to_string(site.place.path("my work/report.json")).expect("a report");
    assert!(report.contains("\"resumes\": 1"), "{report}");
    assert!(is_empty(&disk) && beside(&site).is_empty(), "{:?}", beside(&site));
}

#[test]
fn a_staged_job_goes_on_under_gridengine() {
    a_staged_job_goes_on_until_it_is_done(Kind::GridEngine);
}

#[test]
fn a_staged_job_goes_on_under_flux() {
    a_staged_job_goes_on_until_it_is_done(Kind::Flux);
}

#[test]
fn a_staged_job_is_requeued_under_slurm() {
    let Some(slurm) = Slurm::start() else { return };
    let edges = random_edges(3000, 100_000, 6);
    let path = slurm.place.u32("its edges.u32", &edges);
    slurm.place.job(&format!("path = '{}'", path.display()), "[job]\nworkdir = 'my work'\n");
    let rules: String = (1..200).map(|n| format!("unit.done={n}:sleep(500);")).collect();
    let slow = slurm.place.write(
        "slow",
        format!(
            "#!/bin/bash\nif [ ${{SLURM_RESTART_COUNT:-0}} = 0 ]; then export GPUGRAPH_FAILPOINTS='{rules}'; fi\nexec {} \"$@\"\n",
            env!("CARGO_BIN_EXE_gpugraph")
        ),
    );
    fs::set_permissions(slow, fs::Permissions::from_mode(0o755)).expect("permissions");
    let disk = slurm.place.path("a node's disk");
    fs::create_dir(&disk).expect("a folder");
    let disk = disk.display().to_string();
    let environment = [("GPUGRAPH", "./slow"), ("CONFIG", "job.toml"), ("STAGE", &*disk)];
    let job = slurm.submit(&environment, &["slurm/job.sbatch"]);
    slurm.until("staged run", 30, |slurm| slurm.logs().contains("staged my work"));
    slurm.until("unit on the node's disk", 30, |_| has_units(Path::new(&disk)));
    slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
    slurm.ends(&job, "COMPLETED", 60);
    let log = slurm.log("gpugraph", &job);
    for (text, times) in [("copied back to my work", 2), ("exit 75 after", 1), ("exit 0 after", 1)] {
        assert_eq!(log.matches(text).count(), times, "{text}: {log}");
    }
    let report = fs::read_to_string(slurm.place.path("my work/report.json")).expect("a report");
    assert!(report.contains("\"resumes\": 1"), "{report}");
    assert_eq!(triangles(&serde_json::from_str(&report).expect("JSON")), oracle(3000, &edges).0);
    assert!(is_empty(&disk));
}

#[test]
fn several_nodes_and_a_folder_that_is_not_there_are_refused() {
    for (variables, expected) in [
        ([("STAGE", "/nonexistent"), ("STAND_IN_NODES", "1")], "STAGE=/nonexistent: no folder on "),
        (
            [("STAGE", "/tmp"), ("STAND_IN_NODES", "2")],
            "STAGE=/tmp: the workdir is staged on one node alone, and this job has 2",
        ),
    ] {
        let Some(site) = Site::start(Kind::Flux) else { return };
        site.place.job("path = 'x.u32'", "");
        let job = site.submit(&[&[("CONFIG", "job.toml")], &variables[..]].concat(), 3600, None);
        let log = site.end();
        assert!(log.contains(expected), "{log}");
        assert_eq!(fs::read_to_string(site.place.path(format!("server/{job}.exit"))).expect("a code"), "2\n", "{log}");
    }
}

/// Killed while it copied, between its renames, and before any.
#[test]
fn what_a_killed_copy_back_left_is_put_in_order() {
    for (left, removed) in
        [("my work.whole", true), ("my work.whole", false), ("my work.old", true), ("my work.copying", false)]
    {
        let Some(site) = Site::start(Kind::Flux) else { return };
        site.place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "[job]\nworkdir = 'my work'\n");
        site.place.run(&[]).expect(0);
        let moved = |from: &str, to: &str| fs::rename(site.place.path(from), site.place.path(to)).expect("rename");
        moved("my work", left);
        if left == "my work.copying" {
            // Half of it is there; the workdir is as it was before.
            fs::remove_file(site.place.path("my work.copying/manifest.json")).expect("a manifest");
        } else if !removed {
            folder(&site, "my work");
            site.place.write("my work/lock", "");
        }
        let disk = folder(&site, "disk");
        site.submit(&[("CONFIG", "job.toml"), ("STAGE", &disk)], 3600, None);
        let log = site.end();
        assert!(log.contains("exit 0 after"), "{left}, {removed}: {log}");
        assert_eq!(log.contains("this job is done already"), left != "my work.copying", "{left}, {removed}: {log}");
        assert_eq!(site.triangles("my work"), 1070);
        assert!(is_empty(&disk) && beside(&site).is_empty(), "{left}: {:?}", beside(&site));
    }
}

#[test]
fn a_copy_back_that_is_killed_costs_its_slice_alone() {
    let Some(site) = Site::start(Kind::Flux) else { return };
    let answer = site.slow_job(0);
    let disk = folder(&site, "disk");
    let variables = [("CONFIG", "job.toml"), ("STAGE", &*disk)];
    // Half of it is there when the job is cancelled; the stand-in has five seconds between TERM and KILL.
    site.command(
        "bin/cp",
        "echo \"$$ $*\" >>copies\ncase $* in *copying) mkdir \"${!#}\" && sleep 60 ;; *) exec /bin/cp \"$@\" ;; esac",
    );
    let job = site.submit(&variables, 3600, None);
    site.until("copy", |site| site.place.path("my work.copying").exists());
    site.cancel(&job);
    site.end();
    assert!(!site.place.path("my work").exists() && site.place.path("my work.copying").exists());
    fs::remove_file(site.place.path("bin/cp")).expect("a command");
    site.submit(&variables, 3600, None);
    let log = site.end();
    assert!(log.contains("copied back to my work"), "{log}");
    assert_eq!(site.triangles("my work"), answer);
    assert!(is_empty(&disk) && beside(&site).is_empty(), "{:?}", beside(&site));
}

#[test]
fn a_workdir_that_is_in_use_is_not_staged() {
    let Some(site) = Site::start(Kind::Flux) else { return };
    site.place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "[job]\nworkdir = 'my work'\n");
    site.place.run(&[]).expect(0);
    let mut holder =
        Command::new("flock").arg(site.place.path("my work/lock")).args(["sleep", "60"]).spawn().expect("flock");
    site.until("lock", |site| {
        let mut tries = Command::new("flock");
        !tries.arg("-n").arg(site.place.path("my work/lock")).arg("true").status().is_ok_and(|ran| ran.success())
    });
    let disk = folder(&site, "disk");
    site.submit(&[("CONFIG", "job.toml"), ("STAGE", &disk)], 3600, None);
    let log = site.end();
    let _ = holder.kill();
    let _ = holder.wait();
    assert!(log.contains("my work: another job or run works there") && is_empty(&disk), "{log}");
}

/// A disk of a node, of 2 MiB.
struct Small<'a>(&'a str);

impl Small<'_> {
    fn mount(folder: &str) -> Option<Small<'_>> {
        let mount = || Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]).status();
        if !root() || !mount().is_ok_and(|status| status.success()) {
            println!("SKIPPED: no right to mount a small disk");
            return None;
        }
        Some(Small(folder))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", self.0]).status();
    }
}

#[test]
fn on_a_disk_that_is_too_small_the_job_goes_on_without_it() {
    let Some(site) = Site::start(Kind::Flux) else { return };
    let disk = folder(&site, "disk");
    let Some(_small) = Small::mount(&disk) else { return };
    // It has room for the begin alone.
    site.place.job("kronecker = { scale = 16, edge_factor = 16, seed = 1 }", "[job]\nworkdir = 'my work'\n");
    let variables = [("CONFIG", "job.toml"), ("STAGE", &*disk)];
    site.submit(&variables, 3600, None);
    let log = site.end();
    assert!(
        log.contains("the next slice works in my work itself") && log.contains("so my work is not staged"),
        "{log}"
    );
    assert!(log.contains("exit 0 after"), "{log}");
    assert!(is_empty(&disk), "{log}");

    // Nor is what is larger copied in.
    fs::remove_file(site.place.path("my work.unstaged")).expect("a mark");
    site.place.write("my work/large", vec![1; 3 << 20]);
    site.submit(&variables, 3600, None);
    let log = site.end();
    assert!(log.contains(": not staged") && log.contains("this job is done already"), "{log}");
}

#[test]
fn the_run_is_told_to_save_earlier_by_the_time_that_the_copy_back_takes() {
    let Some(site) = Site::start(Kind::Flux) else { return };
    site.place.job("path = 'x.u32'", "[job]\nworkdir = 'my work'\n");
    // 6 MiB, of which the copy back is said to take 1 a second.
    site.runs(
        "large",
        "for word; do case $word in job.workdir=*) mkdir \"${word#*=}\" && head -c 6291456 /dev/zero >\"${word#*=}/large\" ;; esac; done\n\
         trap 'exit 75' USR1; sleep 60 & wait",
    );
    let disk = folder(&site, "disk");
    let variables = [("CONFIG", "job.toml"), ("STAGE", &*disk), ("GPUGRAPH", "./large"), ("MAX_RESTARTS", "0")];
    site.submit(&[&variables[..], &[("STAGE_RATE", "1"), ("GRACE", "4")]].concat(), 20, None);
    let log = site.end();
    let (_, rest) = log.split_once("exit 75 after ").expect("an end");
    let seconds: u32 = rest.split(' ').next().and_then(|number| number.parse().ok()).expect("seconds");
    // By the clock alone it would be 16.
    assert!((4..14).contains(&seconds), "{log}");
}

#[test]
fn a_copy_back_that_fails_leaves_the_workdir_as_it_was() {
    let Some(site) = Site::start(Kind::Flux) else { return };
    let target = folder(&site, "shared");
    let Some(_small) = Small::mount(&target) else { return };
    site.place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "[job]\nworkdir = 'shared/work'\n");
    site.place.run(&[]).expect(0);
    let before = fs::read(site.place.path("shared/work/manifest.json")).expect("a manifest");
    // A run that writes more than the shared disk has room for.
    site.runs("large", "for word; do case $word in job.workdir=*) head -c 4000000 /dev/zero >\"${word#*=}/large\" ;; esac; done; exit 0");
    let disk = folder(&site, "disk");
    site.submit(
        &[("CONFIG", "job.toml"), ("STAGE", &disk), ("GPUGRAPH", "./large"), ("MAX_RESTARTS", "9")],
        3600,
        None,
    );
    let log = site.end();
    assert!(log.contains("the copy back to shared/work failed, so it is as it was before this slice"), "{log}");
    assert!(log.contains("3 slices in a row"), "{log}");
    assert_eq!(fs::read(site.place.path("shared/work/manifest.json")).expect("a manifest"), before);
    assert!(!site.place.path("shared/work.copying").exists() && is_empty(&disk));
}

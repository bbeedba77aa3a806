//! What a job does to the folder that it works in, and to what others keep there.

use std::fs;
use std::process::Command;

use gpugraph::internals::job::state::lock::Lock;

use crate::support::{self, Place, number, oracle, random_edges, triangles};

/// A job of a text file, and the answer.
fn place() -> (Place, u64) {
    let place = Place::new();
    let edges = random_edges(200, 3000, 8);
    place.job_on(&place.u32("edges.u32", &edges), "[triangle]\n");
    (place, oracle(200, &edges).0)
}

#[test]
fn what_others_have_in_a_folder_is_neither_removed_nor_replaced() {
    let (place, known) = place();
    for name in ["graph", "units", "out", "report.json", "manifest.json", "status.json"] {
        let theirs = place.workdir().join(name);
        let kept = match name.contains('.') {
            true => theirs.clone(),
            false => theirs.join("theirs.tmp-1"),
        };
        fs::create_dir_all(kept.parent().expect("a folder")).expect("made");
        fs::write(&kept, "theirs").expect("written");
        for more in [&[][..], &["--fresh"]] {
            let ran = place.run(more).expect(2);
            assert!(ran.error().contains(name) && ran.error().contains("workdir"), "{}", ran.err);
            assert_eq!(fs::read(&kept).expect("still there"), b"theirs", "{name}");
        }
        fs::remove_dir_all(place.workdir()).expect("removed");
    }
    // Anything else may lie there, and stays.
    fs::create_dir(place.workdir()).expect("made");
    fs::write(place.workdir().join("notes"), "mine").expect("written");
    assert_eq!(triangles(&place.report(&[])), known);
    assert_eq!(triangles(&place.report(&["--fresh"])), known);
    assert_eq!(fs::read(place.workdir().join("notes")).expect("still there"), b"mine");
}

#[test]
fn an_input_that_the_job_would_take_for_its_own_is_refused_and_stays() {
    let (place, known) = place();
    let parts = place.path("parts");
    fs::create_dir(&parts).expect("made");
    fs::copy(place.path("edges.u32"), parts.join("a.u32")).expect("copied");
    let input = format!("input.path={}", parts.display());
    let ran = place.run(&["--set", &input, "--set", &format!("job.workdir={}", parts.display())]).expect(2);
    assert!(ran.error().contains("parts"), "{}", ran.err);
    assert_eq!(triangles(&place.report(&["--set", &input])), known);
    // In a folder of the job's own, once it is one.
    let inside = place.workdir().join("out");
    fs::create_dir_all(&inside).expect("made");
    fs::rename(parts.join("a.u32"), inside.join("a.u32")).expect("moved");
    let input = format!("input.path={}", inside.join("a.u32").display());
    for more in [&["--set", &input][..], &["--set", &input, "--fresh"]] {
        assert!(place.run(more).expect(2).error().contains("lies in its out"));
    }
    assert!(inside.join("a.u32").is_file());
}

#[test]
fn results_of_another_job_are_not_replaced_without_a_word() {
    let (place, _) = place();
    place.run(&["--set", "job.name=first"]).expect(0);
    let again = place.run(&["--set", "job.name=first"]).expect(0);
    assert!(!again.err.contains("results of job"), "{}", again.err);
    let ran = place.run(&["--set", "job.name=second", "--set", "triangle.per_vertex=true"]).expect(0);
    assert!(ran.err.contains("has the results of job first"), "{}", ran.err);
}

#[test]
fn folders_of_the_system_are_no_workdir() {
    let (place, known) = place();
    fs::create_dir(place.path("home")).expect("made");
    let with_home = |workdir: &str| {
        let set = format!("job.workdir={workdir}");
        let mut command = place.command(&["run", "job.toml", "--set", &set]);
        support::Ran::of(command.env("HOME", place.path("home")).output().expect("run gpugraph"))
    };
    // An empty one may be meant.
    with_home("home").expect(0);
    assert_eq!(
        fs::read_dir(place.path("home"))
            .expect("a workdir")
            .filter(|e| e.as_ref().is_ok_and(|e| e.file_name() == "report.json"))
            .count(),
        1
    );
    fs::remove_dir_all(place.path("home")).expect("removed");
    fs::create_dir(place.path("home")).expect("made");
    fs::write(place.path("home/notes"), "mine").expect("written");
    for workdir in ["/", "/etc", "/usr/bin", ".", "..", "home", "home/.."] {
        let ran = with_home(workdir).expect(2);
        assert!(ran.error().contains("not empty") && ran.error().contains("gpugraph.work/"), "{workdir}: {}", ran.err);
    }
    assert!(!place.path("lock").exists() && !place.path("home/lock").exists());
    assert_eq!(triangles(&place.report(&[])), known);
}

#[test]
fn each_input_has_a_workdir_of_its_own() {
    let place = Place::new();
    let (a, b) = (random_edges(200, 3000, 8), random_edges(90, 2000, 9));
    place.u32("a.u32", &a);
    fs::create_dir(place.path("b")).expect("made");
    place.u32("b/part.u32", &b);
    place.write("job.toml", "[input]\npath = 'a.u32'\n[triangle]\n");
    let b_alone = ["--set", "input.path=b"];
    place.run(&[]).expect(0);
    place.run(&b_alone).expect(0);
    let random = "input.kronecker={ scale = 5, edge_factor = 2.5, seed = 7 }";
    place.run(&["--set", random]).expect(0);
    let found = |name: &str| {
        let text = fs::read(place.path("gpugraph.work").join(name).join("report.json")).expect(name);
        let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(report["job"], name);
        triangles(&report)
    };
    assert_eq!((found("a"), found("b")), (oracle(200, &a).0, oracle(90, &b).0));
    found("kronecker-5-2.5-7");
    // Whoever asks for one gets that one.
    let status = |more: &[&str]| place.gpugraph(&[&["status", "job.toml"], more].concat()).expect(0).out;
    assert!(status(&[]).contains(&format!("triangles {}", oracle(200, &a).0)));
    assert!(status(&b_alone).contains(&format!("triangles {}", oracle(90, &b).0)));
}

#[test]
fn finished_results_of_another_input_are_replaced_only_with_fresh() {
    let (place, known) = place();
    let column = ["--set", "triangle.per_vertex=true"];
    place.run(&column).expect(0);
    let names = ["report.json", "manifest.json", "out/triangles.npy", "out/clustering.npy"];
    let left = || names.map(|name| fs::read(place.workdir().join(name)).expect(name));
    let first = left();
    let refused = |more: &[&str], words: &[&str]| {
        let ran = place.run(&[&column, more].concat()).expect(5);
        for word in words.iter().chain(&["--fresh", "work"]) {
            assert!(ran.error().contains(word), "{word} is not in {}", ran.err);
        }
        assert!(left() == first, "{more:?} changed what is there");
        assert!(!place.workdir().join("graph").exists());
    };
    // Other files, one of the same length; no files; then the same file with other bytes, more of them and as many.
    let edges = random_edges(200, 3000, 8);
    let mut other = edges.clone();
    other[1234] = [1, 2];
    place.u32("same-length.u32", &other);
    place.u32("longer.u32", &[&edges[..], &[[7, 8]]].concat());
    for name in ["same-length.u32", "longer.u32"] {
        refused(&["--set", &format!("input.path={name}")], &["edges.u32", name]);
    }
    refused(&["--set", "input.uniform={ scale = 5 }"], &["edges.u32", "uniform"]);
    for bytes in ["same-length.u32", "longer.u32"] {
        fs::copy(place.path(bytes), place.path("edges.u32")).expect("copied");
        refused(&[], &["edges.u32", "before it changed"]);
    }
    assert!(place.gpugraph(&["status", "work"]).expect(0).out.contains("finished"));
    // The same bytes in a file of another time are the same input, and one that was moved is.
    place.u32("edges.u32", &edges);
    assert_eq!(triangles(&place.report(&column)), known);
    fs::rename(place.path("edges.u32"), place.path("moved.u32")).expect("moved");
    assert_eq!(triangles(&place.report(&[&column[..], &["--set", "input.path=moved.u32"]].concat())), known);
    let fresh = [&column[..], &["--set", "input.path=same-length.u32", "--fresh"]].concat();
    assert_eq!(triangles(&place.report(&fresh)), oracle(200, &other).0);
}

#[test]
fn a_fresh_job_that_cannot_start_discards_nothing() {
    let (place, known) = place();
    place.run(&["--set", "triangle.per_vertex=true"]).expect(0);
    let names = ["report.json", "manifest.json", "out/triangles.npy"];
    let left = || names.map(|name| fs::read(place.workdir().join(name)).expect(name));
    let first = left();
    place.write("nothing.mtx", "");
    for (code, set) in [
        (3, "input.path=missing.u32"),
        (3, "input.path=nothing.mtx"),
        (3, "input.path=missing.u32 input.expect={edges=9,ids=9}"),
        (7, "limits.host_memory=4MiB"),
    ] {
        let set = set.split(' ').flat_map(|set| ["--set", set]);
        place.run(&["--fresh"].into_iter().chain(set.clone()).collect::<Vec<_>>()).expect(code);
        assert!(left() == first, "{:?} changed what is there", set.collect::<Vec<_>>());
    }
    assert!(place.gpugraph(&["status", "work"]).expect(0).out.contains("finished"));
    assert_eq!(triangles(&place.report(&["--fresh"])), known);
}

#[test]
fn files_of_others_are_no_room_for_the_job() {
    let (place, _) = place();
    let free = |place: &Place| {
        let plan = place.gpugraph(&["plan", "job.toml", "--json"]).expect(0);
        number(&serde_json::from_str(&plan.out).expect("JSON"), "disk_free")
    };
    fs::create_dir_all(place.workdir()).expect("made");
    let before = free(&place);
    let bytes = 256 << 20;
    fs::File::create(place.workdir().join("theirs")).and_then(|file| file.set_len(bytes)).expect("written");
    // A file without blocks takes none, so all that could change is what is reckoned beside free blocks.
    assert!(free(&place) < before + bytes / 2, "what lies in theirs is not free");
}

#[test]
fn rows_of_vertices_that_a_header_names_are_in_the_plan() {
    let place = Place::new();
    let header = "%%MatrixMarket matrix coordinate pattern general\n";
    let path = place.write("few.mtx", format!("{header}2000000 2000000 3\n1 2\n2 3\n1 3\n"));
    place.job_on(&path, "[triangle]\nper_vertex = true\n");
    let plan = place.gpugraph(&["plan", "job.toml", "--json"]).expect(0);
    let disk = number(&serde_json::from_str(&plan.out).expect("JSON"), "disk");
    assert_eq!(triangles(&place.report(&[])), 1);
    let out = fs::read_dir(place.workdir().join("out")).expect("results");
    let bytes: u64 = out.map(|file| file.and_then(|file| file.metadata()).expect("a file").len()).sum();
    assert!(bytes > 2 * 8 * 2_000_000, "two columns of 8 bytes: {bytes}");
    assert!((bytes..bytes + (4 << 20)).contains(&disk), "{disk} planned for {bytes}");
}

#[test]
fn a_scratch_folder_is_made() {
    let place = Place::new();
    let edges = random_edges(60_000, 900_000, 8);
    let scratch = place.path("no/such/folder");
    let more = format!("[job]\nworkdir = 'work'\nscratch = '{}'\n[limits]\nthreads = 1\n", scratch.display());
    place.job_on(&place.u32("edges.u32", &edges), &more);
    let spilled = place.report(&["--set", "limits.host_memory=38MiB"]);
    assert_eq!(triangles(&spilled), oracle(60_000, &edges).0);
    assert!(scratch.is_dir());
}

/// Every file of a workdir, as a job with stored blocks, units and columns leaves it, for a test to put something else in its place.
fn whole() -> (Place, Vec<String>) {
    let place = Place::new();
    place.job_on(
        &place.u32("edges.u32", &random_edges(50, 200, 8)),
        "[triangle]\nper_vertex = true\n[bfs]\nroots = 2\n",
    );
    place.run(&["--set", "job.keep=true"]).expect(0);
    let mut names: Vec<String> = support::files(&place.workdir(), &[""]).into_keys().collect();
    names.push("status.json".into());
    (place, names)
}

#[test]
fn what_is_no_regular_file_stops_nobody() {
    let (place, names) = whole();
    assert!(names.len() > 10 && names.iter().any(|name| name.starts_with("graph/")), "{names:?}");
    let workdir = place.workdir();
    let aside = place.path("aside");
    for name in &names {
        let path = workdir.join(name);
        let _ = fs::rename(&path, &aside);
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        let job = &["job.toml", "--set", "job.keep=true"][..];
        for command in
            [&["status", "work"][..], &["report", "work"], &["verify", "work"], &["plan"], &["run"], &["clean", "work"]]
        {
            let args = [command, if command.len() == 1 { job } else { &[] }].concat();
            let mut command = Command::new("timeout");
            command.args(["--kill-after=1", "20", env!("CARGO_BIN_EXE_gpugraph")]).args(&args);
            support::environment_of(&place.command(&[]), &mut command);
            let ran = support::Ran::of(command.current_dir(place.path("")).output().expect("run gpugraph"));
            assert!([0, 4, 8, 10].contains(&ran.code), "{name} {args:?}: {} {}", ran.code, ran.err);
        }
        place.run(&["--set", "job.keep=true", "--fresh"]);
        if path.exists() && !path.is_file() {
            // `lock` is nobody's to remove: who runs is told.
            assert!(place.run(&[]).expect(10).error().contains("a FIFO"), "{name}");
            fs::remove_file(&path).expect("removed");
        }
        place.run(&["--set", "job.keep=true", "--fresh"]).expect(0);
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let (place, names) = whole();
    let outside = place.path("outside");
    for name in &names {
        for there in [true, false] {
            let path = place.workdir().join(name);
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(&outside);
            if there {
                fs::write(&outside, "theirs").expect("written");
            }
            std::os::unix::fs::symlink(&outside, &path).expect("linked");
            let ran = place.run(&["--set", "job.keep=true", "--set", "bfs.seed=7"]);
            assert!([0, 10].contains(&ran.code), "{name}: {} {}", ran.code, ran.err);
            assert_eq!(fs::read(&outside).ok(), there.then(|| b"theirs".to_vec()), "{name}");
            if ["lock", "run.log"].contains(&name.as_str()) {
                assert!(ran.expect(10).error().contains("a link"), "{name}");
            }
            let _ = fs::remove_file(&path);
            place.run(&["--set", "job.keep=true", "--fresh"]).expect(0);
        }
    }
}

#[test]
fn a_run_waits_for_the_workdir_if_told_to() {
    let place = Place::new();
    place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "");
    let lock = Lock::acquire(&place.workdir()).expect("a lock");
    assert!(place.run(&[]).expect(5).err.contains("in use by pid"));
    // Told to stop, it stops, and leaves the workdir to its owner.
    let mut waiting = place.start(&["--wait"]);
    assert!(waiting.until("waiting for work, which is in use by pid"));
    waiting.signal(15);
    waiting.end().expect(75);
    assert!(!place.path("work/manifest.json").exists());
    let mut waiting = place.start(&["--wait"]);
    assert!(waiting.until("waiting for work, which is in use by pid"));
    drop(lock);
    waiting.end().expect(0);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

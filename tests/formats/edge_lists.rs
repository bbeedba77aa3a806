//! generate and convert, by the real binary: what they refuse, what they say, and what they leave.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{self, Place, Started};

#[test]
fn a_folder_as_output_is_called_one() {
    let place = Place::new();
    place.write("a.txt", "0 1\n");
    fs::create_dir(place.path("folder")).unwrap();
    for line in [
        &["convert", "a.txt", "folder"][..],
        &["generate", "uniform", "--scale", "4", "-o", "folder"],
        &["generate", "product", "none.txt", "none.txt", "-o", "folder"],
    ] {
        let ran = place.gpugraph(line).expect(2);
        assert!(ran.error().contains("folder: expected a file to write, found a folder"), "{}", ran.err);
    }
}

#[test]
fn standard_output_is_no_file_of_that_name() {
    let place = Place::new();
    place.write("a.txt", "0 1\n");
    for line in [
        &["convert", "a.txt", "-", "--to", "u32"][..],
        &["generate", "uniform", "--scale", "4", "-o", "-", "--format", "u32"],
    ] {
        let ran = place.gpugraph(line).expect(2);
        assert!(ran.error().contains("-: expected a file to write, found the sign for standard output"), "{}", ran.err);
    }
    assert!(!place.path("-").exists());
}

#[test]
fn generate_takes_what_a_job_file_takes() {
    let place = Place::new();
    let limits = [("0", "16", false), ("1", "16", true), ("41", "16", false), ("4", "0", false), ("4", "0.5", true)];
    for (scale, factor, taken) in limits {
        let code = if taken { 0 } else { 2 };
        let line = ["generate", "kronecker", "--scale", scale, "--edge-factor", factor, "-o", "a.u32"];
        place.gpugraph(&line).expect(code);
        place.job(&format!("kronecker = {{ scale = {scale}, edge_factor = {factor} }}"), "");
        place.gpugraph(&["plan", "job.toml"]).expect(code);
    }
}

#[test]
fn a_signal_leaves_no_output_and_says_so() {
    let place = Place::new();
    place.write("in.u32", vec![1; 64 << 20]);
    // Longer than any test.
    let generate = ["generate", "uniform", "--scale", "32", "--threads", "1", "-o", "out.txt.gz"];
    for line in [&generate[..], &["convert", "in.u32", "out.txt.gz", "--threads", "1"]] {
        let names = || fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
        let begun = || names().any(|name| name.to_string_lossy().ends_with(".part"));
        let running = Started::new(&mut place.command(line));
        let start = Instant::now();
        while !begun() {
            assert!(start.elapsed() < Duration::from_secs(60), "{line:?} began nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
        running.signal(15);
        let ran = running.end().expect(75);
        let said = ran.error();
        assert!(said.contains("stopped by SIGTERM: nothing is kept"), "{said}");
        assert_eq!(names().collect::<Vec<_>>(), ["in.u32"]);
    }
}

#[test]
fn weights_that_get_lost_are_told_of() {
    let place = Place::new();
    place.write("a.gr", "p sp 2 1\na 1 2 7\n");
    place.write("a.wel", "0 1 7\n");
    place.write("a.txt", "0 1\n");
    let warned = |line: &[&str]| {
        let said = place.gpugraph(line).expect(0).err;
        said.lines().filter_map(|line| Some(line.split_once("WARN ")?.1.to_owned())).collect::<Vec<_>>()
    };
    assert!(warned(&["convert", "a.gr", "b.gr"]).is_empty());
    assert!(fs::read_to_string(place.path("b.gr")).unwrap().ends_with("a 1 2 7\n"));
    let said = warned(&["convert", "a.wel", "b.u32"]);
    assert_eq!(said, ["a.wel: has weights, which u32 does not hold; they are left out"]);
    assert!(warned(&["convert", "a.wel", "b.u64", "--weights", "none"]).is_empty());
    place.write("f.txt", "0 1 0.5\n");
    let said = warned(&["convert", "f.txt", "b.gr"]);
    assert_eq!(said, ["b.gr: has weights with fractions, which the definition of gr does not allow"]);
    assert!(warned(&["convert", "a.txt", "b.u32"]).is_empty());
    assert!(place.gpugraph(&["convert", "--help"]).expect(0).out.contains("Weights are kept by text"));
}

#[test]
fn the_ending_of_a_generated_file_says_its_format() {
    let place = Place::new();
    let generate = |name: &str, more: &[&str]| {
        let line = [&["generate", "uniform", "--scale", "4", "--edge-factor", "2", "-o", name], more].concat();
        place.gpugraph(&line)
    };
    generate("e.txt", &[]).expect(0);
    let text = fs::read_to_string(place.path("e.txt")).unwrap();
    assert_eq!(text.lines().filter(|line| line.split('\t').all(|id| id.parse::<u32>().unwrap() < 16)).count(), 32);
    for name in ["e.mtx", "e.txt.gz", "e.u64.zst", "e.gr", "e.graph500"] {
        generate(name, &[]).expect(0);
        // The lengths of arcs are no part of what was generated.
        place.gpugraph(&["convert", name, "back.txt", "--weights", "none"]).expect(0);
        assert_eq!(fs::read_to_string(place.path("back.txt")).unwrap(), text, "{name}");
    }
    // What is named overrides.
    generate("f.txt", &["--format", "u32"]).expect(0);
    assert_eq!(fs::metadata(place.path("f.txt")).unwrap().len(), 32 * 8);
    assert!(generate("e.dat", &[]).expect(2).error().contains("name one with --format"));
    assert!(!place.path("e.dat").exists());
    generate("e.dat", &["--format", "u32"]).expect(0);
    // Factors, too, are of the format of their endings.
    place.gpugraph(&["generate", "product", "e.mtx", "f.txt", "--input-format", "mtx", "-o", "p.u64"]).expect(3);
    place.gpugraph(&["generate", "product", "e.mtx", "e.txt.gz", "-o", "p.txt"]).expect(0);
    assert!(fs::read_to_string(place.path("p.txt")).unwrap().lines().count() > 100);
}

#[test]
fn an_output_that_is_of_the_input_is_refused_before_anything_is_written() {
    let place = Place::new();
    fs::create_dir_all(place.path("in/sub")).unwrap();
    place.write("in/a.txt", "0 1\n1 2\n");
    fs::hard_link(place.path("in/a.txt"), place.path("hard.txt")).unwrap();
    std::os::unix::fs::symlink("in/a.txt", place.path("soft.txt")).unwrap();
    std::os::unix::fs::symlink("in", place.path("folder")).unwrap();
    let before = fs::metadata(place.path("in/a.txt")).unwrap().modified().unwrap();
    for [from, to] in [
        ["in/a.txt", "in/a.txt"],
        ["in/a.txt", "./in/../in/a.txt"],
        ["in/a.txt", "hard.txt"],
        ["in/a.txt", "soft.txt"],
        ["soft.txt", "in/a.txt"],
        ["in", "in/b.u32"],
        ["in", "in/sub/b.u32"],
        ["in", "folder/b.u32"],
        ["folder/", "in/b.u32"],
        ["in/*.txt", "in/b.txt"],
        ["**/a*", "in/sub/a.u32"],
    ] {
        let line = ["convert", from, to, "--recursive"];
        let said = place.gpugraph(&line).expect(2);
        assert!(said.error().contains("belongs to the input"), "{from} {to}: {}", said.err);
    }
    place.gpugraph(&["generate", "product", "in/a.txt", "hard.txt", "-o", "hard.txt"]).expect(2);
    // A file that is written next to the output may be of the input as well.
    for (from, line) in [
        ("names.u32.ids.txt", &["names.u32", "--ids", "string"][..]),
        ("w.graph500.weights", &["w.graph500", "--from", "text"]),
    ] {
        place.write(from, "7 8 1\n8 9 2\n");
        let said = place.gpugraph(&[&["convert", from], line].concat()).expect(2);
        assert!(said.error().contains("belongs to the input"), "{from}: {}", said.err);
        assert_eq!(fs::read_to_string(place.path(from)).unwrap(), "7 8 1\n8 9 2\n");
    }
    assert_eq!(fs::read_to_string(place.path("in/a.txt")).unwrap(), "0 1\n1 2\n");
    assert_eq!(fs::metadata(place.path("in/a.txt")).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_dir(place.path("in")).unwrap().count(), 2);
    // Beside it, and of another name than the pattern's, it may be.
    place.gpugraph(&["convert", "in/a.txt", "in/b.u32"]).expect(0);
    place.gpugraph(&["convert", "in/*.txt", "in/c.u32"]).expect(0);
}

#[test]
fn what_a_killed_convert_left_goes_with_the_next_run_of_the_same_line() {
    let place = Place::new();
    place.write("in.u32", vec![1; 16 << 20]);
    let line = ["convert", "in.u32", "out.txt.gz", "--threads", "1"];
    let parts = || {
        let names = fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".part")).count()
    };
    let begin = |parts_then: usize| {
        let running = Started::new(&mut place.command(&line));
        let start = Instant::now();
        while parts() < parts_then {
            assert!(start.elapsed() < Duration::from_secs(60), "nothing began");
            std::thread::sleep(Duration::from_millis(1));
        }
        running
    };
    let running = begin(1);
    running.signal(9);
    running.end().expect(137);
    assert_eq!(parts(), 1);
    // One that is at work keeps its own, and both come to an end.
    let (first, second) = (begin(1), begin(2));
    first.end().expect(0);
    second.end().expect(0);
    assert_eq!(parts(), 0);
    place.gpugraph(&["convert", "out.txt.gz", "back.u32"]).expect(0);
    assert_eq!(fs::read(place.path("back.u32")).unwrap(), fs::read(place.path("in.u32")).unwrap());
}

#[test]
fn a_full_disk_under_an_output_gets_advice_that_fits() {
    let place = Place::new();
    place.write("in.u32", vec![1; 4 << 20]);
    for line in ["convert in.u32 out.txt", "generate uniform --scale 20 -o out.u32"] {
        let script = format!("ulimit -f 1000; exec \"{}\" {line}", env!("CARGO_BIN_EXE_gpugraph"));
        let mut command = std::process::Command::new("bash");
        let ran = support::Ran::command(command.args(["-c", &script]).current_dir(place.path("."))).expect(6);
        assert!(ran.error().contains("write to another disk"), "{}", ran.err);
        assert!(!ran.error().contains("workdir"), "{}", ran.err);
        assert_eq!(fs::read_dir(place.path(".")).unwrap().count(), 1, "{line}");
    }
}

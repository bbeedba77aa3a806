//! generate and convert, by the real binary: what they refuse, what they say, and what they leave.

mod support;

use std::fs;
use std::time::{Duration, Instant};

use support::{Place, Started};

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
    let said = warned(&["convert", "a.gr", "b.gr"]);
    assert_eq!(said, ["a.gr: its weights are not converted; every arc gets length 1"]);
    assert!(fs::read_to_string(place.path("b.gr")).unwrap().ends_with("a 1 2 1\n"));
    let said = warned(&["convert", "a.wel", "b.u32"]);
    assert_eq!(said, ["a.wel: its weights are not converted; the output has edges alone"]);
    assert!(warned(&["convert", "a.txt", "b.u32"]).is_empty());
    assert!(place.gpugraph(&["convert", "--help"]).expect(0).out.contains("Weights are not converted"));
}

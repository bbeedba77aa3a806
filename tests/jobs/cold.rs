//! A job on a file that is not in the page cache: what is kept of it between passes changes nothing but the time.
#![allow(unsafe_code)] // posix_fadvise has no safe form

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::support::{self, Place, answer, cuda_on_cpu, number};
use serde_json::Value;

/// A run that may use a GPU begins to read the file, by way of the page cache, while it looks for one.
const CPU: &str = "run.device=cpu";

/// Takes a file out of the page cache, where it is on a disk. Pages that somebody holds just then stay, so it looks, and tries again.
fn chill(path: &Path) {
    let file = File::open(path).expect("open");
    file.sync_all().expect("synced");
    // SAFETY: nobody writes the file while this test has it.
    let map = unsafe { memmap2::Mmap::map(&file) }.expect("mapped");
    for _ in 0..50 {
        // SAFETY: an open descriptor, and no memory.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        let mut pages = vec![0u8; map.len().div_ceil(4096)];
        // SAFETY: the range is mapped, and there is a byte for each of its pages of 4 KiB or more.
        let looked = unsafe { libc::mincore(map.as_ptr().cast_mut().cast(), map.len(), pages.as_mut_ptr()) };
        if looked == 0 && pages.iter().all(|page| page & 1 == 0) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// All files of the prepared graph.
fn store(place: &Place) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(place.workdir().join("graph")).expect("a graph").map(|entry| entry.expect("an entry"));
    files.map(|file| (file.file_name().to_string_lossy().into_owned(), fs::read(file.path()).expect("read"))).collect()
}

/// What a run says of its input, and how many chunks it kept.
struct InputCache {
    report: Value,
    chunks: usize,
    store: BTreeMap<String, Vec<u8>>,
}

fn run(place: &Place, cuda: Option<&Path>, sets: &[&str]) -> InputCache {
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let args = [&["run", "job.toml", "--fresh"], &sets[..]].concat();
    let mut command = cuda.map_or_else(|| place.command(&args), |cuda| place.command_on(cuda, &args));
    let ran = support::Ran::command(command.env("GPUGRAPH_LOG", "debug")).expect(0);
    let line = ran.err.lines().find(|line| line.contains("input kept")).expect("a line about it");
    let chunks = line.split("chunks=").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("chunks");
    InputCache { report: place.read_report(), chunks, store: store(place) }
}

/// Runs the file at `path`, cold, under each limit; all must give what the first gives. Chunks kept by each.
fn compare(place: &Place, path: &Path, cuda: Option<&Path>, limits: &[&str], more: &[&str]) -> Vec<usize> {
    place.job_on(path, "[job]\nworkdir = 'work'\nkeep = true\n");
    let runs = limits.iter().map(|limit| {
        chill(path);
        let limit = format!("limits.host_memory={limit}");
        run(place, cuda, &[&[limit.as_str()], more].concat())
    });
    let runs: Vec<InputCache> = runs.collect();
    assert!(runs[0].store.len() > 3, "{:?}", runs[0].store.keys());
    for (run, limit) in runs.iter().zip(limits) {
        assert_eq!(answer(&run.report), answer(&runs[0].report), "{limit}");
        assert_eq!(run.report["input"], runs[0].report["input"], "{limit}");
        assert!(run.store == runs[0].store, "{limit}");
        let (peak, most) = (number(&run.report, "limits.host_memory_peak"), number(&run.report, "limits.host_memory"));
        // Memory of a GPU that is made up is the process's own.
        assert!(peak <= most || cuda.is_some(), "{peak} bytes at the peak within {limit}");
    }
    runs.iter().map(|run| run.chunks).collect()
}

#[test]
fn all_some_or_none_of_a_file_is_kept_and_the_store_is_the_same() {
    let place = Place::on_disk();
    place.gpugraph(&["generate", "kronecker", "--scale", "20", "--seed", "7", "-o", "s20.u32"]).expect(0);
    let path = place.path("s20.u32");
    let chunks = fs::metadata(&path).expect("a file").len().div_ceil(8 << 20) as usize;
    // Looking at samples of a file, and what the system reads ahead, brings chunks into the cache: all that there was room for, now and then.
    for _ in 0..6 {
        let found = compare(&place, &path, None, &["128MiB", "160MiB", "1GiB"], &["limits.threads=3", CPU]);
        println!("chunks kept: {found:?} of {chunks}");
        if found[2] == 0 {
            println!("SKIPPED: files can't be taken out of the page cache here");
            return;
        }
        assert!(found[0] == 0 && found[1] < chunks && found[2] <= chunks, "{found:?} of {chunks}");
        if (1..=found[2]).contains(&found[1]) {
            return;
        }
    }
    panic!("six times none was kept where there was room for some, or fewer where there was room for all");
}

#[test]
fn a_sorted_file_of_wide_ids_that_is_kept_is_not_spilled() {
    let place = Place::on_disk();
    // Rows one after the other: what comes first all goes to few bins.
    let edges: Vec<[u64; 2]> = (0..5_000_000).map(|i| [i / 20, (i / 20 + i % 20 * 7919 + 1) % 250_000]).collect();
    let path = place.u64("sorted.u64", &edges);
    let found = compare(&place, &path, None, &["1GiB", "200MiB"], &["limits.threads=4", CPU]);
    println!("chunks kept: {found:?}");
    let run = run(&place, None, &["limits.host_memory=1GiB", "limits.threads=4", CPU]);
    let stages = run.report["stages"].as_array().expect("stages");
    let partition = stages.iter().find(|stage| stage["name"] == "partition").expect("partition");
    assert_eq!(partition["written"], 0, "{partition}");
}

#[test]
fn with_a_gpu_it_is_the_same() {
    let Some(cuda) = cuda_on_cpu() else { return };
    let place = Place::on_disk();
    // Mostly loops, which are chunks to read and soon dropped: the stand-in takes its time.
    let edges: Vec<[u64; 2]> =
        (0..8_600_000).map(|i| if i % 16 == 0 { [i / 600, i * 7919 % 15_000] } else { [i % 15_000; 2] }).collect();
    let sets = ["run.device=gpu", "limits.gpu_memory=256MiB", "limits.threads=2"];
    let path = place.u32("loops.u32", &edges);
    let found = compare(&place, &path, Some(&cuda), &["1GiB"], &sets);
    println!("chunks kept: {found:?}");
    let made = store(&place);
    let known = run(&place, None, &["run.device=cpu"]).store;
    assert!(made == known);
}

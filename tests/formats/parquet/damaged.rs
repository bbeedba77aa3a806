//! Damaged and hostile files: an error of one line or, where nothing in the format can tell, edges; never a panic or a hang.

use super::read::{karate, open, own, scan};
use gpugraph::internals::formats::{FileSearch, Input};
use std::path::Path;

/// A sequence of numbers that is the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % below
    }
}

fn check(path: &Path, what: &str, must_be_club: bool) -> bool {
    let opened = open(path).map(|input| input.with_chunk(512));
    let planned = opened.as_ref().is_ok_and(|input| input.estimate_edges().is_ok());
    match opened.and_then(|input| scan(&input, 2)) {
        Ok((found, _)) => {
            assert!(planned, "{what}: read, but not planned");
            assert!(!must_be_club || found == karate(), "{what}: another graph");
            // Nothing adds rows that the footer does not declare.
            assert_eq!(found.len(), 78, "{what}");
            true
        }
        Err(error) => {
            let text = error.to_string();
            assert_eq!(error.exit_code(), 3, "{what}: {text}");
            assert!(!text.contains('\n') && !text.contains("panicked"), "{what}: {text}");
            false
        }
    }
}

#[test]
fn files_of_one_changed_byte_are_read_or_refused_and_those_with_checksums_never_as_another_graph() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut random = Numbers(15);
    let (mut read, mut refused) = (0, 0);
    for name in [
        "checksums",
        "codec-gzip",
        "codec-lz4",
        "codec-brotli",
        "delta-v1-required",
        "delta-v2-optional",
        "dictionary-none",
        "dictionary-snappy",
        "dictionary-v2-optional",
        "pandas",
        "plain-v1-optional",
        "plain-v2-required",
        "split-v2-required",
        "type-uint32",
    ] {
        let contents = std::fs::read(own(name)).unwrap();
        let footer = u32::from_le_bytes(*contents[contents.len() - 8..].first_chunk().unwrap()) as usize;
        for round in 0..200 {
            let mut changed = contents.clone();
            // Half of them in the footer, where most claims are.
            let within = if round % 2 == 0 { footer + 8 } else { contents.len() };
            let at = contents.len() - 1 - random.next(within);
            let to = match round % 3 {
                0 => changed[at] ^ (1 << random.next(8)),
                1 => random.next(256) as u8,
                _ => [0, 1, 0x7f, 0x80, 0xff][random.next(5)],
            };
            changed[at] = to;
            std::fs::write(&path, &changed).unwrap();
            // Pages with checksums can't change unseen; the footer has none, and might name other pages or columns as ids.
            let covered = name == "checksums" && at < contents.len() - 8 - footer;
            match check(&path, &format!("{name}: byte {at} is {to}"), covered) {
                true => read += 1,
                false => refused += 1,
            }
        }
    }
    assert!(read + refused >= 2000 && refused > 700 && read > 100, "{read} read, {refused} refused");
}

#[test]
fn files_cut_anywhere_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    for name in ["dictionary-zstd", "pandas"] {
        let contents = std::fs::read(own(name)).unwrap();
        for length in (0..contents.len()).step_by(7).chain(contents.len() - 12..contents.len()) {
            std::fs::write(&path, &contents[..length]).unwrap();
            assert!(!check(&path, &format!("{name}: {length} bytes"), true), "{name}: {length} bytes were read");
        }
        // What was written behind it, and what was lost in the middle.
        for changed in [[&contents[..], &[0; 8]].concat(), [&contents[..100], &contents[150..]].concat()] {
            std::fs::write(&path, &changed).unwrap();
            assert!(!check(&path, name, true), "{name}");
        }
    }
}

#[test]
fn runs_of_damaged_bytes_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut random = Numbers(8);
    for name in ["dictionary-none", "delta-v1-optional", "codec-snappy", "split-v1-optional"] {
        let contents = std::fs::read(own(name)).unwrap();
        for round in 0..150 {
            let mut changed = contents.clone();
            let (at, length) = (random.next(contents.len() - 8), 1 + random.next(16));
            for byte in changed[at..].iter_mut().take(length) {
                *byte = if round % 3 == 0 { 0xff } else { random.next(256) as u8 };
            }
            std::fs::write(&path, &changed).unwrap();
            check(&path, &format!("{name}: {length} bytes from {at} on"), false);
        }
    }
}

/// Where `what` stands first in the pages of a file.
fn find(contents: &[u8], what: &[u8]) -> usize {
    contents.windows(what.len()).position(|window| window == what).unwrap()
}

#[test]
fn claims_of_counts_and_sizes_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    // A footer longer than the file.
    let contents = std::fs::read(own("codec-none")).unwrap();
    for length in [u32::MAX, contents.len() as u32, 1 << 30, 0] {
        let mut changed = contents.clone();
        let at = contents.len() - 8;
        changed[at..at + 4].copy_from_slice(&length.to_le_bytes());
        std::fs::write(&path, &changed).unwrap();
        assert!(!check(&path, &format!("a footer of {length} bytes"), true));
    }
    // The header of the first page, behind its type: its size unpacked and packed, of 30 values of 8 bytes.
    let header = [0x15, 0x00, 0x15, 0xe0, 0x03, 0x15, 0xe0, 0x03];
    let at = find(&contents, &header);
    let huge = [0x15, 0x00, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 0xe0, 0x03];
    let mut changed = contents.clone();
    // The rest of the header is lost: what is left is a page of 2^31 bytes.
    changed[at..at + huge.len()].copy_from_slice(&huge);
    std::fs::write(&path, &changed).unwrap();
    assert!(!check(&path, "a page of 2 GiB", true));
    let input = open(&path).unwrap();
    assert!(input.scratch_bytes(2) < 64 << 20, "{} bytes would be reserved", input.scratch_bytes(2));
}

#[test]
fn a_file_that_changes_between_the_plan_and_the_scan_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    std::fs::copy(own("codec-none"), &path).unwrap();
    let input = Input::find(std::slice::from_ref(&path), None, FileSearch::default()).unwrap();
    input.estimate_edges().unwrap();
    std::fs::copy(own("pandas"), &path).unwrap();
    let text = scan(&input, 2).unwrap_err().to_string();
    assert!(text.contains("leave the file alone"), "{text}");
}

//! Chunks that are kept between passes: whatever is kept, from whatever file system, the edges are the same.
#![allow(unsafe_code)] // posix_fadvise has no safe form

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::gather::Gather;
use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{CacheUse, Edges, FileSearch, Input, Scan, Share, TextOptions, Unwatched, Visitor};
use gpugraph::internals::memory::Budget;
use proptest::prelude::*;

const CHUNK: usize = 3 * 4096;

/// One pass: its edges, sorted, and what it found.
fn pass(input: &Input, keeping: CacheUse<'_, '_>, threads: usize) -> Result<(Vec<[u64; 2]>, Scan)> {
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather::default()).collect();
    let scan = input.scan_share(Share::ALL, keeping, &mut visitors, &Unwatched)?.finish()?;
    let mut edges: Vec<_> = visitors.into_iter().flat_map(|visitor| visitor.0).collect();
    edges.sort_unstable();
    Ok((edges, scan))
}

/// Takes a file out of the page cache, where it is on a disk.
fn chill(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    // SAFETY: an open descriptor, and no memory.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// A folder on a disk, and one in memory.
fn folders() -> Vec<tempfile::TempDir> {
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::iter::once(disk).chain(tempfile::tempdir_in("/dev/shm")).collect()
}

fn write(path: &Path, edges: &[[u64; 2]], format: &str) {
    let bytes: Vec<u8> = match format {
        "u32" => edges.iter().flatten().flat_map(|&id| (id as u32).to_le_bytes()).collect(),
        "u64" => edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect(),
        "graph500" => {
            edges.iter().flat_map(|&[u, v]| [u as u32, v as u32, 0].map(u32::to_le_bytes)).flatten().collect()
        }
        _ => edges.iter().flat_map(|[u, v]| format!("{u} {v}\n").into_bytes()).collect(),
    };
    std::fs::write(path, bytes).unwrap();
}

/// Whether a file that was taken out of the page cache really is: not so where the "disk" is memory itself.
fn cold(path: &Path) -> bool {
    let input = Input::find(&[path.to_owned()], None, FileSearch::default()).unwrap().with_chunk(CHUNK);
    let budget = Budget::new(1 << 30, 1).unwrap();
    let mut memory = input.cache_addresses(&budget).unwrap();
    let kept = input.cache(&mut memory, &budget).unwrap();
    kept.allow(1 << 29);
    chill(path);
    pass(&input, CacheUse::For(&kept), 1).unwrap();
    kept.chunks() > 0
}

fn parts() -> impl Strategy<Value = Vec<(&'static str, usize)>> {
    let format = prop_oneof![Just("u32"), Just("u64"), Just("graph500"), Just("txt")];
    prop::collection::vec((format, 0usize..40_000), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn edges_are_the_same_whatever_is_kept(
        parts in parts(),
        allowed in prop_oneof![Just(0), 1usize..60, Just(1000)],
        chilled in any::<bool>(),
        threads in 1usize..5,
    ) {
        for folder in folders() {
            let mut expected = Vec::new();
            let mut paths: Vec<PathBuf> = Vec::new();
            for (index, &(format, count)) in parts.iter().enumerate() {
                let edges: Vec<[u64; 2]> = (0..count as u64).map(|i| [i * 7919 % 65_537, i * i % 50_021]).collect();
                paths.push(folder.path().join(format!("{index}.{format}")));
                write(&paths[index], &edges, format);
                expected.extend(edges);
            }
            expected.sort_unstable();
            let text = TextOptions { skip_lines: Some(0), ..TextOptions::default() };
            let input = Input::find(&paths, None, FileSearch::default()).unwrap().with_text(text).unwrap().with_chunk(CHUNK);
            let budget = Budget::new(1 << 30, threads).unwrap();
            let free = budget.free();
            let (edges, scan) = pass(&input, CacheUse::Nothing, threads).unwrap();
            prop_assert!(edges == expected);
            let mut memory = input.cache_addresses(&budget).unwrap();
            let kept = input.cache(&mut memory, &budget).unwrap();
            kept.allow((allowed * CHUNK) as u64);
            if chilled {
                paths.iter().for_each(|path| chill(path));
            }
            // What the second pass finds kept it uses.
            for _ in 0..2 {
                prop_assert!(pass(&input, CacheUse::For(&kept), threads).unwrap() == (expected.clone(), scan));
                prop_assert!(kept.bytes() <= (allowed * CHUNK) as u64);
                prop_assert_eq!(free - budget.free(), kept.bytes());
                prop_assert!(kept.chunks() * CHUNK <= kept.bytes() as usize);
            }
            let (chunks, bytes) = (kept.chunks(), kept.bytes());
            kept.release_one();
            prop_assert_eq!(kept.bytes(), bytes.saturating_sub(CHUNK as u64));
            let chunks = chunks.min(kept.chunks());
            let taken = Mutex::new(Vec::new());
            let last = CacheUse::Last(&kept, &|slab| {
                taken.lock().unwrap().push(slab.as_ptr().addr());
                slab.fill(7);
                kept.release(slab);
            });
            prop_assert!(pass(&input, last, threads).unwrap() == (expected.clone(), scan));
            let mut taken = taken.into_inner().unwrap();
            taken.sort_unstable();
            taken.dedup();
            prop_assert_eq!((taken.len(), kept.chunks()), (chunks, 0));
            kept.release_all();
            prop_assert_eq!(budget.free(), free);
        }
    }
}

#[test]
fn a_cold_file_is_kept_and_a_warm_one_is_not() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("a.u32");
    let edges: Vec<[u64; 2]> = (0..100_001).map(|i| [i, i * 3]).collect();
    write(&path, &edges, "u32");
    if !cold(&path) {
        println!("SKIPPED: files can't be taken out of the page cache here");
        return;
    }
    let chunks = std::fs::metadata(&path).unwrap().len().div_ceil(CHUNK as u64) as usize;
    let kept_of = |warm: bool| {
        chill(&path);
        if warm {
            std::fs::read(&path).unwrap();
        }
        let input = Input::find(std::slice::from_ref(&path), None, FileSearch::default()).unwrap().with_chunk(CHUNK);
        let budget = Budget::new(1 << 30, 3).unwrap();
        let mut memory = input.cache_addresses(&budget).unwrap();
        let kept = input.cache(&mut memory, &budget).unwrap();
        kept.allow(1 << 29);
        pass(&input, CacheUse::For(&kept), 3).unwrap();
        kept.chunks()
    };
    assert_eq!(kept_of(true), 0);
    // Looking at the start of a file brings some of it into the cache; on a busy machine the system may read more of it ahead.
    let most =
        (0..10).map(|_| kept_of(false)).inspect(|kept| assert!(*kept <= chunks)).find(|kept| kept + 12 >= chunks);
    assert!(most.is_some(), "never nearly all of {chunks} chunks");
}

/// Shortens the file as soon as it sees an edge.
struct Cutter(PathBuf);

impl Visitor for Cutter {
    fn visit(&mut self, _: Edges<'_>, _: &[u32]) -> Result<()> {
        File::options().write(true).open(&self.0).unwrap().set_len(5 * CHUNK as u64 + 100).unwrap();
        Ok(())
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_error() {
    for folder in folders() {
        let path = folder.path().join("a.u32");
        for keep in [false, true] {
            write(&path, &vec![[1, 2]; 100_000], "u32");
            chill(&path);
            let input =
                Input::find(std::slice::from_ref(&path), None, FileSearch::default()).unwrap().with_chunk(CHUNK);
            let budget = Budget::new(1 << 30, 1).unwrap();
            let mut memory = input.cache_addresses(&budget).unwrap();
            let kept = input.cache(&mut memory, &budget).unwrap();
            // Too little for all of the file.
            kept.allow(if keep { 20 * CHUNK as u64 } else { 0 });
            let done = input.scan_share(Share::ALL, CacheUse::For(&kept), &mut [Cutter(path.clone())], &Unwatched);
            let error = done.expect_err("cut");
            assert_eq!(error.exit_code(), 3, "{error}");
            let text = error.to_string();
            assert!(text.contains(&format!("a.u32 at byte {}", 5 * CHUNK + 100)) || keep, "{text}");
            assert!(text.contains("a.u32 at byte ") && text.contains("800000 bytes, as when"), "{text}");
            // And it is not what was opened before the next pass.
            let error = pass(&input, CacheUse::For(&kept), 2).unwrap_err();
            assert!(error.exit_code() == 3 && error.to_string().contains("800000 bytes"), "{error}");
        }
    }
}

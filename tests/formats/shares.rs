//! The shares of ranks in one input: together they are the whole of it, in every format, however many there are.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::gather::Gather;
use crate::own;
use gpugraph::internals::comm::WorkStealing;
use gpugraph::internals::error::{Error, Result};
use gpugraph::internals::formats::{CacheUse, Edges, FileSearch, Input, InputCache, Scan, Share, Unwatched, Visitor};
use gpugraph::internals::generate::Generator;
use gpugraph::internals::memory::Budget;

fn open(path: &Path) -> Input {
    Input::find(&[path.to_owned()], None, FileSearch::default()).unwrap()
}

fn sorted(visitors: Vec<Gather>) -> Vec<[u64; 2]> {
    let mut edges: Vec<_> = visitors.into_iter().flat_map(|gather| gather.0).collect();
    edges.sort_unstable();
    edges
}

fn whole(input: &Input) -> (Vec<[u64; 2]>, Scan) {
    let mut visitors = vec![Gather::default()];
    let scan = input.scan(&mut visitors, &Unwatched).unwrap();
    (sorted(visitors), scan)
}

/// Edges by rank, and what each rank finds once the numbers of all are one.
type Seen = (Vec<Vec<[u64; 2]>>, Vec<Result<Scan>>);

fn by_ranks(input: &Input, ranks: usize, threads: usize) -> Result<Seen> {
    let (mut edges, mut seen) = (Vec::new(), Vec::new());
    for rank in 0..ranks {
        let mut visitors: Vec<_> = (0..threads).map(|_| Gather::default()).collect();
        seen.push(input.scan_share(Share::of(rank, ranks), CacheUse::Nothing, &mut visitors, &Unwatched)?);
        edges.push(sorted(visitors));
    }
    Ok(one(edges, seen))
}

/// The same of ranks that help each other, some of which begin before others.
fn by_helpers(input: &Input, stealing: &[WorkStealing], threads: usize) -> Result<Seen> {
    let ranks = stealing.len();
    let scan = |(rank, stealing): (usize, &WorkStealing)| {
        let share = Share { rank, ranks, helping: Some(stealing) };
        let mut visitors: Vec<_> = (0..threads).map(|_| Gather::default()).collect();
        let seen = input.scan_share(share, CacheUse::Nothing, &mut visitors, &Unwatched)?;
        Ok((sorted(visitors), seen))
    };
    let (early, late) = stealing.split_at(ranks / 2);
    let late = late.iter().enumerate().map(|(nth, stealing)| (ranks / 2 + nth, stealing));
    let mut done: Vec<Result<_>> = early.iter().enumerate().map(scan).collect();
    done.extend(std::thread::scope(|scope| {
        let late: Vec<_> = late.map(|rank| scope.spawn(move || scan(rank))).collect();
        late.into_iter().map(|rank| rank.join().unwrap()).collect::<Vec<_>>()
    }));
    let (edges, seen) = done.into_iter().collect::<Result<Vec<_>>>()?.into_iter().unzip();
    Ok(one(edges, seen))
}

/// What each rank finds once the numbers of all are one.
fn one(edges: Vec<Vec<[u64; 2]>>, mut seen: Vec<gpugraph::internals::formats::ShareResult>) -> Seen {
    let mut sums = vec![0; seen[0].sums().len()];
    let mut most = vec![0; seen[0].most().len()];
    for seen in &mut seen {
        // The same numbers of as many things: ranks add them up blindly.
        assert_eq!((seen.sums().len(), seen.most().len()), (sums.len(), most.len()));
        sums.iter_mut().zip(seen.sums()).for_each(|(sum, one)| *sum += *one);
        most.iter_mut().zip(seen.most()).for_each(|(most, one)| *most = (*most).max(*one));
    }
    let finish = |mut seen: gpugraph::internals::formats::ShareResult| {
        seen.sums().copy_from_slice(&sums);
        seen.most().copy_from_slice(&most);
        seen.finish()
    };
    (edges, seen.into_iter().map(finish).collect())
}

#[track_caller]
fn agree(what: &str, input: &Input, ranks: impl IntoIterator<Item = usize>, threads: usize) {
    let (want, scan) = whole(input);
    for ranks in ranks {
        let stealing = WorkStealing::within(ranks);
        let apart = by_ranks(input, ranks, threads);
        // A second pass finds what the first has left of the counts.
        let helping = [(); 2].map(|()| by_helpers(input, &stealing, threads));
        for found in [apart].into_iter().chain(helping) {
            let (edges, scans) = found.unwrap_or_else(|e| panic!("{what}: {ranks}: {e}"));
            let mut all = edges.concat();
            all.sort_unstable();
            assert_eq!(all, want, "{what}: {ranks} ranks");
            for found in scans {
                assert_eq!(found.unwrap(), scan, "{what}: {ranks} ranks");
            }
        }
    }
}

#[test]
fn who_is_done_takes_what_others_have_not_begun() {
    let input = Input::generated(Generator::uniform(10, 8.0, 3).unwrap()).with_chunk(512);
    let stealing = WorkStealing::within(3);
    for _ in 0..2 {
        let (edges, _) = by_helpers(&input, &stealing, 1).unwrap();
        assert_eq!(edges.iter().map(Vec::len).collect::<Vec<_>>(), [8 << 10, 0, 0]);
    }
    let (edges, _) = by_ranks(&input, 3, 1).unwrap();
    assert!(edges.iter().all(|edges| edges.len().abs_diff((8 << 10) / 3) < 128), "{:?}", edges.iter().map(Vec::len));
}

#[test]
fn shares_of_every_format_in_tiny_chunks_are_the_whole() {
    let mut names: Vec<_> = std::fs::read_dir(own("")).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("small.")));
    assert!(names.len() >= 8, "{names:?}");
    for path in &names {
        for chunk in (1..=24).chain([64, 1000]) {
            let input = open(path).with_chunk(chunk);
            agree(&format!("{} in chunks of {chunk}", path.display()), &input, 1..=9, 1 + chunk % 3);
        }
    }
    // As parts of one input, plain and packed.
    for chunk in [5, 13, 1 << 20] {
        let input = Input::find(&names, None, FileSearch::default()).unwrap().with_chunk(chunk);
        agree(&format!("all in chunks of {chunk}"), &input, [1, 2, 3, 8, 40], 2);
    }
}

#[test]
fn shares_of_larger_inputs_are_fair() {
    let folder = tempfile::tempdir().unwrap();
    let pairs: Vec<[u64; 2]> = (0..50_000u64).map(|i| [i % 997, i * i % 4001]).collect();
    let narrow: Vec<u8> = pairs.iter().flatten().flat_map(|&id| (id as u32).to_le_bytes()).collect();
    let text: String = pairs.iter().map(|[u, v]| format!("{u} {v}\n")).collect();
    for (name, bytes) in [("a.u32", narrow), ("a.txt", text.into_bytes())] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let input = open(&path).with_chunk(4096);
        agree(name, &input, 1..=9, 2);
        for ranks in [2, 3, 8] {
            let (edges, _) = by_ranks(&input, ranks, 1).unwrap();
            for share in edges {
                let fair = pairs.len() / ranks;
                assert!(share.len().abs_diff(fair) < 1100, "{name}: {} of {} by {ranks}", share.len(), pairs.len());
            }
        }
    }
    for kronecker in [true, false] {
        let generator = if kronecker { Generator::kronecker(10, 7.0, 3) } else { Generator::uniform(10, 7.0, 3) };
        let input = Input::generated(generator.unwrap());
        agree("generated", &input, 1..=9, 2);
        agree("generated in small chunks", &input.clone().with_chunk(512), 1..=9, 2);
    }
}

/// A visitor that says it makes edges itself, as a GPU does. It waits until the cache has `slabs` empty slabs.
struct Maker<'k, 'm> {
    cache: &'k InputCache<'m>,
    slabs: usize,
}

impl Visitor for Maker<'_, '_> {
    fn visit(&mut self, _: Edges<'_>, _: &[u32]) -> Result<()> {
        panic!("nothing is left to make")
    }

    fn make(&mut self, _: Range<u64>) -> Result<bool> {
        let begun = Instant::now();
        while self.cache.spare() < self.slabs && begun.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        Ok(true)
    }
}

#[test]
fn while_a_gpu_makes_edges_memory_is_allocated_for_bins() {
    let input = Input::generated(Generator::kronecker(10, 16.0, 3).unwrap()).with_chunk(4096);
    let budget = Budget::new(1 << 26, 2).unwrap();
    let free = budget.free();
    for (slabs, allocated) in [(7, 0), (20, 20)] {
        let mut memory = input.cache_addresses(&budget).unwrap();
        let cache = input.cache(&mut memory, &budget).unwrap();
        cache.allow(slabs * cache.slab_bytes());
        let mut makers = [0, 1].map(|_| Maker { cache: &cache, slabs: allocated });
        input.scan_share(Share::ALL, CacheUse::For(&cache), &mut makers, &Unwatched).unwrap();
        assert_eq!((cache.spare(), cache.chunks()), (allocated, 0), "{slabs} slabs are few if they are less than 8");
        assert_eq!(free - budget.free(), 4096 * allocated as u64);
        cache.release_all();
        assert_eq!(budget.free(), free);
    }
}

#[test]
fn mistakes_stand_in_one_share_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.txt");
    let mut lines: Vec<String> = (0..3000).map(|i| format!("{i} {}", i + 1)).collect();
    lines[1999] = "7 x".into();
    std::fs::write(&path, lines.join("\n")).unwrap();
    let input = open(&path).with_chunk(512);
    let alone = input.scan(&mut [Gather::default()], &Unwatched).unwrap_err().to_string();
    assert!(alone.contains("2000"), "{alone}");
    for ranks in 1..=9 {
        let scan =
            |rank| input.scan_share(Share::of(rank, ranks), CacheUse::Nothing, &mut [Gather::default()], &Unwatched);
        let errors: Vec<Error> = (0..ranks).filter_map(|rank| scan(rank).err()).collect();
        assert_eq!(
            errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            std::slice::from_ref(&alone),
            "{ranks} ranks"
        );
    }
}

#[test]
fn headers_that_say_otherwise_are_found_out_by_all() {
    let folder = tempfile::tempdir().unwrap();
    let entries: String = (1..400).map(|i| format!("{} {i}\n", i + 1)).collect();
    let mtx = format!("%%MatrixMarket matrix coordinate pattern general\n400 400 400\n{entries}");
    let rows: String = (1..=60).map(|v| format!("{}\n", v % 60 + 1)).collect();
    for (name, text) in [("short.mtx", mtx), ("short.graph", format!("60 59\n{rows}"))] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let input = open(&path).with_chunk(64);
        let alone = input.scan(&mut [Gather::default()], &Unwatched).unwrap_err().to_string();
        for ranks in [2, 3, 8] {
            let (_, scans) = by_ranks(&input, ranks, 1).unwrap();
            assert!(scans.iter().any(|scan| scan.as_ref().is_err_and(|e| e.to_string() == alone)), "{name}: {ranks}");
            assert!(scans.iter().all(Result::is_err), "{name}: {ranks}: {scans:?}");
        }
    }
}

//! What is given out of a GPU's memory, and lines and blocks there: on the stand-in for CUDA.

use crate::support::Dice;
use crate::workspace::workspace;
use gpugraph::internals::gpu::{Arena, DeviceSlice, Queue, Workspace};
use gpugraph::internals::graph::placement::{BlockSize, Placement};
use gpugraph::internals::prepare::partition::WORDS;
use gpugraph::internals::prepare::partition::device_lines::{DeviceLines, LineRun};

/// Runs `body` with 1 MiB of the stand-in's memory: this test, which is `name`, once more in a process that finds it.
fn with_memory(name: &str, body: impl Fn(Workspace)) {
    if let Some(gpu) = workspace(name, &[]) {
        body(gpu);
    }
}

/// The bytes of the arena that a span has.
fn bytes(arena: &Arena, span: DeviceSlice<u8>) -> std::ops::Range<u64> {
    let at = span.address() - arena.words().address();
    at..at + span.len()
}

#[test]
fn an_arena_gives_out_from_both_ends() {
    with_memory("memory::an_arena_gives_out_from_both_ends", |mut gpu| {
        let arena = &mut gpu.arena;
        assert_eq!((arena.bytes(), arena.free(), arena.words().bytes()), (1 << 20, 1 << 20, 1 << 20));
        let first = arena.take::<u8>(1000).expect("room");
        assert_eq!((bytes(arena, first), arena.mark()), (0..1000, 1024));
        let (at, last) = arena.take_last(1000).expect("room");
        assert_eq!((at, bytes(arena, last)), ((1 << 20) - 1024, at..at + 1000));
        assert_eq!(arena.take_last(arena.free() + 1).map(|(at, _)| at), None);
        assert_eq!(arena.free(), (1 << 20) - 2048, "what is not there is not taken");
        assert_eq!(arena.take_last(arena.free()).map(|(at, _)| at), Some(1024), "all that is left");
        assert!(arena.free() == 0 && arena.take::<u8>(1).is_none() && arena.take_last(1).is_none());

        // Whoever resets the rest leaves the end as it is, and what is held.
        arena.reset(0);
        assert_eq!((arena.mark(), arena.free()), (0, 1024));
        arena.release_protected();
        assert_eq!(arena.free(), 1 << 20);
        arena.take::<u32>(1024).expect("room");
        arena.protect(2048);
        arena.reset(0);
        assert_eq!(arena.mark(), 2048);
        arena.reset(3000);
        assert_eq!(arena.mark(), 2048, "no reset gives anything out");
        let next = arena.take::<u8>(1).expect("room");
        assert_eq!(bytes(arena, next), 2048..2049);
        arena.protect(1 << 19);
        arena.reset(0);
        assert_eq!(arena.mark(), 2048 + 256, "no more is held than is given out");
        arena.release_protected();
        arena.reset(0);
        assert_eq!((arena.mark(), arena.free()), (0, 1 << 20));
    });
}

/// Whatever is taken and given back: what is given out is in the arena, and no two have a byte in common.
#[test]
fn parts_of_an_arena_never_overlap() {
    with_memory("memory::parts_of_an_arena_never_overlap", |mut gpu| {
        let mut dice = Dice(5);
        let arena = &mut gpu.arena;
        // By their first bytes in order; of those from the start, which are held.
        let (mut start, mut end, mut held) = (Vec::new(), Vec::new(), 0);
        let mut refused = 0;
        for step in 0..20_000 {
            let bits = 1 + dice.below(18);
            let len = dice.below(1 << bits);
            match dice.below(64) {
                0 => {
                    let mark = dice.below(arena.mark() + 1) / 256 * 256;
                    arena.reset(mark);
                    let kept = mark.max(held);
                    start.retain(|part: &std::ops::Range<u64>| part.end <= kept);
                }
                1 => {
                    arena.release_protected();
                    (held, end) = (0, Vec::new());
                    if dice.below(8) == 0 {
                        arena.trim(arena.bytes() - dice.below(1000));
                    }
                }
                2 => {
                    held = start.get(dice.below(4) as usize).map_or(0, |part| part.end.next_multiple_of(256));
                    arena.protect(held);
                }
                3 => arena.trim(arena.bytes() - dice.below(1000)),
                4..=33 => match arena.take::<u8>(len) {
                    Some(span) => start.push(bytes(arena, span)),
                    None => refused += 1,
                },
                _ => match arena.take_last(len) {
                    Some((at, span)) => {
                        assert_eq!(bytes(arena, span).start, at);
                        end.push(bytes(arena, span));
                    }
                    None => refused += 1,
                },
            }
            let all: Vec<_> = start.iter().chain(end.iter().rev()).collect();
            assert!(all.windows(2).all(|w| w[0].end <= w[1].start), "step {step}: {all:?}");
            assert!(all.last().is_none_or(|last| last.end <= arena.bytes()), "step {step}: {all:?}");
        }
        assert!(refused > 100 && arena.bytes() < 1 << 20, "{refused} refused, {} bytes", arena.bytes());
    });
}

/// Lines of these numbers, in GPU memory.
fn lines(gpu: &mut Workspace, numbers: std::ops::Range<u32>) -> DeviceSlice<u32> {
    let words: Vec<u32> = numbers.flat_map(|line| (0..WORDS as u32).map(move |word| 1000 * line + word)).collect();
    let span = gpu.arena.take(words.len() as u64).expect("room");
    gpu.queue.write(&words, span).expect("a copy");
    span
}

/// The numbers of the lines of a run, and how many were handed over at a time.
fn read(shelf: &DeviceLines, run: LineRun, most: usize) -> (Vec<u32>, Vec<usize>) {
    let (mut numbers, mut pieces) = (Vec::new(), Vec::new());
    let each = |words: &[u32]| {
        pieces.push(words.len() / WORDS);
        for line in words.chunks(WORDS) {
            let number = line[0] / 1000;
            assert!(line.iter().zip(0..).all(|(&word, i)| word == 1000 * number + i), "{line:?}");
            numbers.push(number);
        }
        Ok(())
    };
    shelf.read(run, most, &mut Vec::new(), each).expect("read");
    (numbers, pieces)
}

#[test]
fn a_shelf_takes_the_lines_that_fit_its_parts() {
    with_memory("memory::a_shelf_takes_the_lines_that_fit_its_parts", |mut gpu| {
        // Two ranks' shelves, of ten lines and of five, of which the last is nobody's.
        let shelves = [10, 5].map(|lines| {
            let (_, span) = gpu.arena.take_last(4 * WORDS as u64 * lines).expect("room");
            let words = gpu.arena.words();
            let at = (span.address() - words.address()) / 4;
            words.part(at..at + span.len() / 4)
        });
        shelves.iter().for_each(|&shelf| gpu.queue.fill(shelf, 0xff).expect("a fill"));
        let of = |rank| DeviceLines::new(&shelves, WORDS, rank, Queue::new(&gpu.device).expect("a queue"));
        let [zero, one] = [0, 1].map(of);
        let run = |first, lines| LineRun { first, lines };
        let queue = Queue::new(&gpu.device).expect("a queue");
        let put = |gpu: &mut Workspace, shelf: &DeviceLines, rank, numbers| {
            let lines = lines(gpu, numbers);
            gpu.queue.finish().expect("an end");
            shelf.put(&queue, rank, lines).expect("a copy")
        };
        // Rank 1 has the second half of each.
        assert_eq!(put(&mut gpu, &one, 0, 0..3), run(5, 3));
        assert_eq!(put(&mut gpu, &one, 0, 3..7).lines, 2, "as many as fit");
        assert_eq!(put(&mut gpu, &one, 0, 7..8).lines, 0);
        assert_eq!(put(&mut gpu, &one, 1, 8..9), run(2, 1));
        assert_eq!(put(&mut gpu, &one, 1, 9..9).lines, 0, "nothing takes no room");
        assert_eq!(put(&mut gpu, &one, 1, 9..12), run(3, 1));
        // Rank 0's part of its own is as it was, however full the other is.
        assert_eq!(put(&mut gpu, &zero, 0, 20..24), run(0, 4));
        assert_eq!(put(&mut gpu, &zero, 0, 24..26), run(4, 1));
        assert_eq!(put(&mut gpu, &zero, 1, 30..32), run(0, 2));
        queue.finish().expect("an end");
        assert_eq!(read(&zero, run(0, 10), 4), (vec![20, 21, 22, 23, 24, 0, 1, 2, 3, 4], vec![4, 4, 2]));
        assert_eq!(read(&one, run(0, 4), 1), (vec![30, 31, 8, 9], vec![1; 4]));
        assert_eq!(read(&zero, run(5, 0), 4), (vec![], vec![]));
        let mut last = vec![0; WORDS];
        gpu.queue.read(one.lines().part(4 * WORDS as u64..5 * WORDS as u64), &mut last).expect("a copy");
        assert!(last.iter().all(|&word| word == u32::MAX), "nothing is written beyond the parts");
    });
}

#[test]
fn threads_share_a_shelf() {
    with_memory("memory::threads_share_a_shelf", |mut gpu| {
        let (_, span) = gpu.arena.take_last(4 * WORDS as u64 * 100).expect("room");
        let words = gpu.arena.words();
        let at = (span.address() - words.address()) / 4;
        let shelf = DeviceLines::new(
            &[words.part(at..at + span.len() / 4)],
            WORDS,
            0,
            Queue::new(&gpu.device).expect("a queue"),
        );
        // 2 + 3 + 2 + 3 + ... lines, 125 in all, by one thread each.
        let wanted: Vec<_> = (0..50).map(|i| 3 * i..3 * i + 2 + i % 2).collect();
        let from: Vec<_> = wanted.iter().map(|numbers| lines(&mut gpu, numbers.clone())).collect();
        gpu.queue.finish().expect("an end");
        let device = &gpu.device;
        let runs: Vec<LineRun> = std::thread::scope(|scope| {
            let put = |&lines| {
                let queue = Queue::new(device).expect("a queue");
                let run = shelf.put(&queue, 0, lines).expect("a copy");
                queue.finish().expect("an end");
                run
            };
            let threads: Vec<_> = from.iter().map(|lines| scope.spawn(move || put(lines))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a run")).collect()
        });
        assert_eq!(runs.iter().map(|run| run.lines).sum::<u32>(), 100);
        for (run, numbers) in runs.into_iter().zip(wanted) {
            assert_eq!(read(&shelf, run, 9).0, numbers.take(run.lines as usize).collect::<Vec<_>>());
        }
    });
}

/// Offsets of all of a rank's blocks, then their targets, each from a multiple of 256 bytes on.
#[test]
fn blocks_lie_one_after_the_other_on_each_gpu() {
    let size = |rows, entries| BlockSize { rows, entries };
    let sizes = [size(10, 100), size(63, 64), size(64, 0), size(1, 1)];
    let mut asked = Vec::new();
    Placement::new(&sizes, &[0, 3, 0, 0], |rank, at, words| {
        asked.push((rank, at, words));
        DeviceSlice::default()
    });
    let zero = [(0, 0, 11), (0, 256, 65), (0, 768, 2), (0, 1024, 100), (0, 1536, 0), (0, 1792, 1)];
    assert_eq!(asked, [&zero[..], &[(3, 0, 64), (3, 256, 64)]].concat());
    assert_eq!(Placement::bytes([sizes[0], sizes[2], sizes[3]].into_iter()), 2048);
    assert_eq!(Placement::bytes([sizes[1]].into_iter()), 512);
}

#[test]
fn a_block_has_its_own_place() {
    with_memory("memory::a_block_has_its_own_place", |gpu| {
        let words = gpu.arena.words();
        let sizes = [(5, 7), (300, 70), (2, 9)].map(|(rows, entries)| BlockSize { rows, entries });
        // Rank 1's memory is the upper half.
        let half = |rank: u32, at: u64, len: u64| {
            let from = u64::from(rank) * words.len() / 2 + at / 4;
            words.part(from..from + len)
        };
        let homes = Placement::new(&sizes, &[1, 0, 1], half);
        let at = |span: DeviceSlice<u32>| (span.address() - words.address(), span.len());
        let places = [0, 1, 2].map(|b| (at(homes.of(b).offsets), at(homes.of(b).targets)));
        let upper = 1 << 19;
        assert_eq!(places[0], ((upper, 6), (upper + 512, 7)));
        assert_eq!(places[1], ((0, 301), (1280, 70)));
        assert_eq!(places[2], ((upper + 256, 3), (upper + 768, 9)));
    });
}

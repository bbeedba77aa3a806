//! Linked lists: read from every format, whole or damaged, generated, and converted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::support::{Dice, Place};
use gpugraph::internals::convert::write_list;
use gpugraph::internals::error::{Error, Result};
use gpugraph::internals::formats::{Unwatched, Watch};
use gpugraph::internals::list::{Generated, Kind, ListFormat, ListSource};

const NAMES: [&str; 15] = [
    "a.list",
    "a.i32",
    "a.i64",
    "a.list.gz",
    "a.i32.gz",
    "a.i64.gz",
    "a.list.zst",
    "a.i32.zst",
    "a.i64.zst",
    "a.list.bz2",
    "a.i32.bz2",
    "a.i64.bz2",
    "a.list.xz",
    "a.i32.xz",
    "a.i64.xz",
];

fn open(path: &Path) -> ListSource {
    ListSource::open(path, None).unwrap()
}

/// The successors of a range of elements, each of which must come once.
fn part(source: &ListSource, elements: std::ops::Range<u64>, threads: usize) -> Result<Vec<i64>> {
    let pieces = Mutex::new(BTreeMap::new());
    source.scan(elements.clone(), threads, &Unwatched, &|first, successors| {
        assert!(!successors.is_empty() && successors.len() <= 2048);
        assert!(pieces.lock().unwrap().insert(first, successors.to_vec()).is_none());
        Ok(())
    })?;
    let mut all = Vec::new();
    for (first, piece) in pieces.into_inner().unwrap() {
        assert_eq!(first, elements.start + all.len() as u64);
        all.extend(piece);
    }
    Ok(all)
}

fn read(source: &ListSource, threads: usize) -> Result<Vec<i64>> {
    let length = source.length(threads)?;
    let all = part(source, 0..length, threads)?;
    assert_eq!(all.len() as u64, length);
    Ok(all)
}

/// A permutation with an end: any list whose successors are in range will do.
fn random_list(length: usize, seed: u64) -> Vec<i64> {
    let mut dice = Dice(seed);
    let mut order: Vec<usize> = (0..length).collect();
    for at in (1..length).rev() {
        order.swap(at, dice.below(at as u64 + 1) as usize);
    }
    let mut successors = vec![-1; length];
    order.windows(2).for_each(|pair| successors[pair[0]] = pair[1] as i64);
    successors
}

fn text_of(list: &[i64]) -> String {
    let numbers: Vec<String> = list.iter().map(|next| format!("{next}\n")).collect();
    format!("{}\n{}", list.len(), numbers.concat())
}

fn bytes_of(list: &[i64], name: &str) -> Vec<u8> {
    match name {
        "i32" => list.iter().flat_map(|next| (*next as i32).to_le_bytes()).collect(),
        "i64" => list.iter().flat_map(|next| next.to_le_bytes()).collect(),
        _ => text_of(list).into_bytes(),
    }
}

/// A second reader, by the description of the formats alone.
fn reference(bytes: &[u8], name: &str) -> Option<Vec<i64>> {
    let list: Vec<i64> = match name {
        "i32" if bytes.len().is_multiple_of(4) => {
            bytes.chunks(4).map(|word| i32::from_le_bytes(word.try_into().unwrap()).into()).collect()
        }
        "i64" if bytes.len().is_multiple_of(8) => {
            bytes.chunks(8).map(|word| i64::from_le_bytes(word.try_into().unwrap())).collect()
        }
        "list" => {
            let is_space = |c: char| " \t\n\x0b\x0c\r".contains(c);
            let text = std::str::from_utf8(bytes).ok()?;
            let words = text.split(is_space).filter(|word| !word.is_empty() && !word.starts_with('+'));
            let count = text.split(is_space).filter(|word| !word.is_empty()).count();
            // -0 is no number of a list.
            let number = |word: &str| word.parse::<i64>().ok().filter(|&number| number != 0 || !word.starts_with('-'));
            let numbers = words.map(number).collect::<Option<Vec<_>>>()?;
            let (length, rest) = numbers.split_first()?;
            if count != numbers.len() || *length != rest.len() as i64 {
                return None;
            }
            rest.to_vec()
        }
        _ => return None,
    };
    list.iter().all(|next| (-1..list.len() as i64).contains(next)).then_some(list)
}

#[test]
fn round_trips_through_every_format_and_packing() {
    let place = Place::new();
    for length in [0, 1, 2, 5, 300, 2048, 70_001] {
        let list = random_list(length, length as u64);
        let mut last = place.write("first.list", text_of(&list));
        for name in NAMES {
            let out = place.path(name);
            let done = write_list(&open(&last), &out, ListFormat::of(&out, None).unwrap(), 3, &Unwatched).unwrap();
            assert_eq!((done.elements, done.bytes), (length as u64, out.metadata().unwrap().len()));
            assert_eq!(read(&open(&out), 2).unwrap(), list, "{name} {length}");
            last = out;
        }
        for name in ["list", "i32", "i64"] {
            assert_eq!(std::fs::read(place.path(format!("a.{name}"))).unwrap(), bytes_of(&list, name));
        }
    }
}

#[test]
fn any_chunks_threads_and_ranges() {
    let place = Place::new();
    let list = random_list(5000, 1);
    for name in ["list", "i32", "i64"] {
        let path = place.write(&format!("a.{name}"), bytes_of(&list, name));
        for chunk in [1, 3, 8, 13, 100, 4096, 50_000] {
            for threads in [1, 2, 7] {
                let source = open(&path).with_chunk(chunk);
                assert_eq!(read(&source, threads).unwrap(), list, "{name} {chunk} {threads}");
                for range in [0..1, 17..17, 17..2500, 4999..5000, 0..4999] {
                    let want = &list[range.start as usize..range.end as usize];
                    assert_eq!(part(&source, range.clone(), threads).unwrap(), want, "{name} {chunk} {range:?}");
                }
                assert_eq!(part(&source, 4990..9999, threads).unwrap(), &list[4990..]);
            }
        }
    }
    let packed = place.path("a.list.gz");
    write_list(&open(&place.path("a.i64")), &packed, ListFormat::List, 1, &Unwatched).unwrap();
    assert_eq!(part(&open(&packed), 17..2500, 3).unwrap(), &list[17..2500]);
}

#[test]
fn whitespace_of_every_kind() {
    let place = Place::new();
    for text in ["3 1 2 -1", "3\r\n1\r\n2\r\n-1\r\n", "\n\n 3\t1\x0b2\x0c-1 \n\n", "3\n1 2 -1", "03 01 0002 -1"] {
        let path = place.write("a.list", text);
        for chunk in 1..=text.len() + 1 {
            assert_eq!(read(&open(&path).with_chunk(chunk), 2).unwrap(), [1, 2, -1], "{text:?} {chunk}");
        }
    }
    assert_eq!(read(&open(&place.write("b.lst", "0")), 1).unwrap(), [0i64; 0]);
    assert_eq!(read(&open(&place.write("b.txt", "1 -1")), 1).unwrap(), [-1]);
    assert_eq!(read(&open(&place.write("b.i32", "")), 1).unwrap(), [0i64; 0]);
}

#[test]
fn bad_files_are_refused_with_the_place() {
    let place = Place::new();
    let cases: [(&str, &[u8], &str); 25] = [
        ("a.list", b"", "an empty file"),
        ("a.list", b" \n ", "no number"),
        ("a.list", b"-1 0", "expected the number of elements first, found -1"),
        ("a.list", b"3 1 2", "expected 3 successors, as its first number says, found 2"),
        ("a.list", b"3 1 2 -1 0", "found 4"),
        ("a.list", b"2 1 -", "at byte 4: expected a whole number of at most 63 bits, found \"-\""),
        ("a.list", b"2 1 x", "at byte 4"),
        ("a.list", b"2 1,-1", "at byte 2: expected a whole number of at most 63 bits, found \"1,-1\""),
        ("a.list", b"2 1 99999999999999999999", "at byte 4"),
        ("a.list", b"99999999999999999999 1", "at byte 0"),
        ("a.list", b"9999999999999 1 -1", "expected 9999999999999 successors"),
        ("a.list", b"3 1 3 -1", "at byte 4: expected the successor of element 1 as -1 or from 0 to 2, found 3"),
        ("a.list", b"3 1 -2 -1", "at byte 4: expected the successor of element 1 as -1 or from 0 to 2, found -2"),
        ("a.list", b"2 1 \x00 -1", "at byte 4"),
        ("a.list", b"2 1 \xff", "at byte 4"),
        ("a.list", b"2 1 -1        \x02    ", "at byte 14"),
        ("a.list", b"    \x02    2 1 -1 ", "at byte 4"),
        ("a.list", b"2 1      \x02       -1 ", "at byte 9"),
        ("a.list", b"0      \x02    ", "at byte 7"),
        ("a.i32", b"\x01\0\0\0\x02", "expected numbers of 4 bytes (i32), found 5 bytes"),
        ("a.i64", b"\x01\0\0\0", "expected numbers of 8 bytes (i64), found 4 bytes"),
        (
            "a.i32",
            &[1, 0, 0, 0, 2, 0, 0, 0],
            "at byte 4: expected the successor of element 1 as -1 or from 0 to 1, found 2",
        ),
        ("a.i32", &[0xfe, 0xff, 0xff, 0xff], "at byte 0: expected the successor of element 0"),
        ("a.i64", &[2, 0, 0, 0, 0, 0, 0, 0], "expected the successor of element 0 as -1 or from 0 to 0, found 2"),
        ("a.list.gz", b"", "an empty file"),
    ];
    for (name, bytes, want) in cases {
        let path = place.write(name, bytes);
        for chunk in [1, 2, 5, 1000] {
            let error = read(&open(&path).with_chunk(chunk), 2).unwrap_err();
            assert_eq!(error.exit_code(), 3, "{error}");
            assert!(error.to_string().contains(want), "{name} {bytes:?}: {error}");
        }
    }
    let long = place.write("a.list", format!("2 1 {}1", "0".repeat(100)));
    assert_eq!(read(&open(&long), 1).unwrap(), [1, 1], "zeros in front");
    let long = place.write("a.list", format!("2 1 {}1 ", "0".repeat(100)));
    assert_eq!(read(&open(&long).with_chunk(8), 1).unwrap_err().exit_code(), 3, "too many for a small chunk");
}

#[test]
fn what_is_not_one_file_is_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder.i32")).unwrap();
    for (name, want) in [
        ("folder.i32", "a folder"),
        ("part-*.i32", "a pattern"),
        ("gone.i32", "check the path"),
        ("/dev/null", "a pipe"),
    ] {
        let error = ListSource::open(&place.path(name), Some(ListFormat::I32)).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains(want), "{error}");
    }
    let error = ListSource::open(&place.write("a.dat", "0"), None).unwrap_err();
    assert!(error.exit_code() == 3 && error.to_string().contains("name the format: list, i32 or i64"), "{error}");
}

/// Every prefix of small files, and every byte of them changed, against the second reader.
#[test]
fn damaged_files_are_read_as_what_they_hold_or_refused() {
    let place = Place::new();
    let list = random_list(13, 5);
    let check = |bytes: &[u8], name: &str| {
        let path = place.write(&format!("a.{name}"), bytes);
        let want = reference(bytes, name);
        for chunk in [5, 1000] {
            let found = read(&open(&path).with_chunk(chunk), 1);
            let found = found.inspect_err(|e| assert_eq!(e.exit_code(), 3, "{e}"));
            assert_eq!(found.ok(), want, "{name} {:?}", String::from_utf8_lossy(bytes));
        }
        usize::from(want.is_some())
    };
    for name in ["list", "i32", "i64"] {
        let whole = bytes_of(&list, name);
        let mut read = 0;
        for cut in 0..=whole.len() {
            read += check(&whole[..cut], name);
        }
        for at in 0..whole.len() {
            for value in [b' ', b'0', b'7', b'-', b'+', b',', 0, 1, 0x80, 0xff, whole[at] ^ 1, whole[at] ^ 16] {
                let mut changed = whole.clone();
                changed[at] = value;
                read += check(&changed, name);
            }
        }
        assert!(read > 10, "{name}: {read} of them could be read");
    }
}

#[test]
fn damaged_packed_files_are_refused_or_hold_the_list() {
    let place = Place::new();
    let list = random_list(40, 5);
    let source = place.write("a.list", text_of(&list));
    for name in ["b.list.gz", "b.i64.zst", "b.i32.bz2", "b.list.xz"] {
        let path = place.path(name);
        write_list(&open(&source), &path, ListFormat::of(&path, None).unwrap(), 1, &Unwatched).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            let found = read(&open(&place.write(name, bytes)), 1);
            found.inspect_err(|error| assert_eq!(error.exit_code(), 3, "{name}: {error}")).ok()
        };
        assert_eq!(read(&whole).as_ref(), Some(&list));
        assert!((0..whole.len()).all(|cut| read(&whole[..cut]).is_none()), "{name}");
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            // The frames of zstd are written without checksums.
            let found = read(&changed);
            assert!(found.is_none() || found.as_ref() == Some(&list) || name.ends_with(".zst"), "{name} {at}");
        }
    }
}

/// Another list for the same parameters would be another result in every report: these values stay as they are.
#[test]
fn golden() {
    let walk = |length: u64, kind, seed| {
        let list = Generated::new(length, kind, seed).unwrap();
        let next = read(&ListSource::generated(list).with_chunk(100_000), 2).unwrap();
        let mut is_head = vec![true; next.len()];
        next.iter().filter(|next| **next >= 0).for_each(|next| is_head[*next as usize] = false);
        let head = is_head.iter().position(|head| *head).unwrap();
        let (mut at, mut rank, mut sum) = (head as i64, length, 0u64);
        while at >= 0 {
            rank -= 1;
            sum = sum.wrapping_add(rank.wrapping_mul(at as u64 % 1_000_003 + 1));
            at = next[at as usize];
        }
        assert_eq!(rank, 0, "one list");
        (head, sum)
    };
    assert_eq!(walk(10_000_000, Kind::Swapped, 1), (9_999_999, 7_164_318_082_234_255_295), "as published");
    assert_eq!(walk(100_000, Kind::Random, 1), RANDOM);
    assert_eq!(walk(100_001, Kind::Runs, 1), RUNS);
    assert_eq!(walk(1000, Kind::Ordered, 1), (0, (0..1000).map(|rank| rank * (1000 - rank)).sum()));
}

/// By a second program, in Python.
const RANDOM: (usize, u64) = (25_069, 250_329_246_390_567);
const RUNS: (usize, u64) = (12_544, 248_018_765_668_064);

#[test]
fn a_generated_list_is_a_source() {
    for kind in Kind::ALL {
        let list = Generated::new(5010, kind, 3).unwrap();
        let mut want = vec![0; 5010];
        list.fill(0, &mut want);
        for (chunk, threads) in [(8, 1), (100, 7), (20_000, 2), (1 << 20, 3)] {
            let source = ListSource::generated(list).with_chunk(chunk);
            assert_eq!(read(&source, threads).unwrap(), want);
            assert_eq!(part(&source, 99..3333, threads).unwrap(), &want[99..3333]);
        }
        let source = ListSource::generated(list);
        assert_eq!((source.bytes(), source.identity().unwrap()), (4 * 5010, list.identity()));
        assert_eq!(source.name(), list.to_string());
    }
}

#[test]
fn identity_follows_the_file() {
    let place = Place::new();
    let path = place.write("a.i32", [0; 4]);
    let before = open(&path).identity().unwrap();
    assert_eq!(open(&path).identity().unwrap(), before);
    assert_ne!(ListSource::open(&path, Some(ListFormat::List)).unwrap().identity().unwrap(), before);
    place.write("a.i32", [1; 4]);
    assert_ne!(open(&path).identity().unwrap(), before);
}

/// A file that grows between opening and reading would have another length than was planned with.
#[test]
fn a_file_that_changes_is_noticed() {
    let place = Place::new();
    for (name, bytes) in [("a.i32", &[0u8; 400][..]), ("a.list", b"3 1 2 -1")] {
        let source = open(&place.write(name, bytes));
        place.write(name, [bytes, bytes].concat());
        let error = read(&source, 1).unwrap_err();
        assert!(error.exit_code() == 3 && error.to_string().contains("leave the file alone"), "{error}");
    }
    let source = open(&place.write("a.list", "3 1 2 -1"));
    assert_eq!(source.length(1).unwrap(), 3);
    place.write("a.list", "3 1   -1");
    assert!(read(&source, 1).unwrap_err().to_string().contains("leave the file alone"));
}

/// Counts what it is told, and stops after a while.
struct Counting(std::sync::atomic::AtomicU64, u64);

impl Watch for Counting {
    fn advance(&self, bytes: u64) -> Result<()> {
        let before = self.0.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        if before + bytes > self.1 { Err(Error::Stopped("a test")) } else { Ok(()) }
    }
}

#[test]
fn progress_adds_up_and_a_signal_stops() {
    let place = Place::new();
    let list = random_list(30_000, 2);
    place.write("a.list", text_of(&list));
    for name in NAMES {
        let path = place.path(name);
        if name != "a.list" {
            write_list(&open(&place.path("a.list")), &path, ListFormat::of(&path, None).unwrap(), 2, &Unwatched)
                .unwrap();
        }
        let source = open(&path).with_chunk(5000);
        let watch = Counting(0.into(), u64::MAX);
        source.scan(0..30_000, 2, &watch, &|_, _| Ok(())).unwrap();
        assert_eq!(watch.0.into_inner(), source.bytes(), "{name}");
        let watch = Counting(0.into(), u64::MAX);
        write_list(&open(&path).with_chunk(5000), &place.path("out.i64"), ListFormat::I64, 2, &watch).unwrap();
        assert_eq!(watch.0.into_inner(), source.bytes(), "{name}");
        let watch = Counting(0.into(), source.bytes() / 2);
        assert_eq!(source.scan(0..30_000, 2, &watch, &|_, _| Ok(())).unwrap_err().exit_code(), 75, "{name}");
        let error = source.scan(0..30_000, 2, &Unwatched, &|_, _| Err(Error::Stopped("the visitor"))).unwrap_err();
        assert_eq!(error.exit_code(), 75);
    }
}

#[test]
fn files_are_the_same_for_any_number_of_threads() {
    let place = Place::new();
    for kind in Kind::ALL {
        let source = ListSource::generated(Generated::new(1_500_000, kind, 1).unwrap());
        for name in ["a.list", "a.i32.gz", "a.i64"] {
            let path = place.path(name);
            let written = [1, 2, 5].map(|threads| {
                write_list(&source, &path, ListFormat::of(&path, None).unwrap(), threads, &Unwatched).unwrap();
                std::fs::read(&path).unwrap()
            });
            assert!(written[0] == written[1] && written[1] == written[2], "{name}");
        }
        let want = read(&source, 1).unwrap();
        assert_eq!(read(&open(&place.path("a.list")), 2).unwrap(), want);
        assert_eq!(read(&open(&place.path("a.i32.gz")), 2).unwrap(), want);
    }
}

#[test]
fn commands() {
    let place = Place::new();
    let generate = ["generate", "list", "--length", "1000", "--kind"];
    let ran = place.gpugraph(&[&generate[..], &["random", "--seed", "7", "-o", "a.list"]].concat()).expect(0);
    assert!(ran.out.starts_with("a.list: 1000 elements in "), "{}", ran.out);
    let want = read(&ListSource::generated(Generated::new(1000, Kind::Random, 7).unwrap()), 1).unwrap();
    assert_eq!(std::fs::read_to_string(place.path("a.list")).unwrap(), text_of(&want));
    for (from, to) in [("a.list", "b.i32.zst"), ("b.i32.zst", "c.txt"), ("c.txt", "d.i64"), ("d.i64", "e.lst.gz")] {
        place.gpugraph(&["convert", from, to]).expect(0);
        assert_eq!(read(&open(&place.path(to)), 1).unwrap(), want, "{to}");
    }
    place.gpugraph(&["convert", "c.txt", "f.dat", "--to", "i64"]).expect(0);
    place.gpugraph(&["convert", "f.dat", "g.dat", "--from", "i64", "--to", "list"]).expect(0);
    assert_eq!(std::fs::read(place.path("g.dat")).unwrap(), std::fs::read(place.path("a.list")).unwrap());
    place.write("edges.txt", "0 1\n1 2\n");
    for (args, code, want) in [
        (&["convert", "a.list", "x.u32"][..], 2, "u32 is a format of edges, and a.list is a list"),
        (&["convert", "edges.el", "x.i32"], 2, "text is a format of edges, and x.i32 is a list"),
        (&["convert", "a.list", "x.i32", "--to", "u64"], 2, "u64 is a format of edges"),
        (&["convert", "a.list", "x.dat"], 2, "name list, i32 or i64 with --to"),
        (&["convert", "a.list", "x.i32", "--to", "i33"], 2, "of lists: list, i32, i64"),
        (&["convert", "a.list", "a.list"], 2, "is the input"),
        (&["convert", "a.list", "x.i32", "--recursive"], 2, "--recursive: is for edges"),
        (&["convert", "a.list", "x.i32", "--ids", "string"], 2, "--ids: is for edges"),
        (&["convert", "a.list", "x.i32", "--weights", "u32"], 2, "--weights: is for edges"),
        (&["convert", "-", "x.i32", "--from", "list"], 2, "can't come from a pipe"),
        (&["convert", "edges.txt", "x.i32"], 3, "expected 0 successors, as its first number says, found 3"),
        (&[&generate[..], &["cycle", "-o", "x.list"]].concat(), 2, "unknown kind of list"),
        (&[&generate[..], &["random", "-o", "x.u32"]].concat(), 2, "name list, i32 or i64 with --format"),
        (&["generate", "list", "--length", "1005", "--kind", "swapped", "-o", "x.list"], 2, "last digit is 0, 2 or 4"),
        (&["generate", "list", "--length", "2147483648", "--kind", "ordered", "-o", "x.i32"], 3, "at most 2147483647"),
    ] {
        let ran = place.gpugraph(args).expect(code);
        assert!(ran.err.contains(want), "{args:?}: {}", ran.err);
        let left: Vec<PathBuf> =
            std::fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(
            !left.iter().any(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("x."))),
            "{left:?}"
        );
    }
}

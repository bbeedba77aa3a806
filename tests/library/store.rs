//! StoreInfo files: whole or absent, and every damage to them noticed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gpugraph::internals::error::{Error, Result};
use gpugraph::internals::memory::bytes_of;
use gpugraph::internals::store::file::{CHUNK, Kind, NewFile, Seal};
use gpugraph::internals::store::journal::{Journal, Record, distinct};
use gpugraph::internals::store::map::Mapped;
use gpugraph::internals::store::replace::replace;
use gpugraph::internals::store::sync::Syncer;
use proptest::prelude::*;

const KIND: Kind = Kind::new(b"TEST");

fn write(path: &Path, salt: u64, body: &[u8]) -> Result<Seal> {
    let mut file = NewFile::create(path, KIND, salt)?;
    file.write(body)?;
    file.finish()
}

fn read(path: &Path, salt: u64) -> Result<Vec<u8>> {
    let file = Mapped::open(path, KIND, salt)?;
    file.verify_checksum()?;
    Ok(file.body().to_vec())
}

/// Bytes without a pattern that could hide a swap.
fn noise(len: usize) -> Vec<u8> {
    let mut x = 0x1234_5678_9abc_def0_u64;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x as u8
    };
    (0..len).map(|_| next()).collect()
}

fn files_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_comes_back_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    for len in [0, 1, 63, 64, 4096, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 12345] {
        let path = dir.path().join("a");
        let body = noise(len);
        let seal = write(&path, 7, &body).unwrap();
        assert_eq!(seal.bytes, len as u64);
        assert_eq!(fs::metadata(&path).unwrap().len(), 128 + len as u64);
        assert_eq!(read(&path, 7).unwrap(), body);
    }
    assert_eq!(files_in(dir.path()), ["a"]);
}

#[test]
fn integers_are_seen_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let words: Vec<u32> = (0..10_000).map(|i: u32| i.wrapping_mul(0x9E37_79B9)).collect();
    write(&path, 0, bytes_of(&words)).unwrap();
    let file = Mapped::open(&path, KIND, 0).unwrap();
    assert_eq!(file.body_as_u32().unwrap(), words);
    assert_eq!(file.body_as_u64().unwrap().len(), 5_000);
    assert_eq!(file.body().as_ptr() as usize % 64, 0);
    file.drop_range(100..20_000);
    file.drop_range(50_000..60_000);
    assert_eq!(file.body_as_u32().unwrap(), words, "dropped pages come back");
    write(&path, 0, b"seven b").unwrap();
    let odd = Mapped::open(&path, KIND, 0).unwrap();
    assert_eq!(odd.body_as_u32().unwrap_err().exit_code(), 4);
    assert_eq!(odd.body_as_u64().unwrap_err().exit_code(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pieces_make_no_difference(cuts in prop::collection::vec(0_usize..3 * CHUNK, 0..12), len in 0..3 * CHUNK) {
        let dir = tempfile::tempdir().unwrap();
        let body = noise(len);
        let whole = write(&dir.path().join("whole"), 3, &body).unwrap();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(len)).chain([0, len]).collect();
        cuts.sort_unstable();
        let mut file = NewFile::create(&dir.path().join("pieces"), KIND, 3).unwrap();
        for cut in cuts.windows(2) {
            file.write(&body[cut[0]..cut[1]]).unwrap();
        }
        prop_assert_eq!(file.body_bytes(), len as u64);
        prop_assert_eq!(file.finish().unwrap(), whole);
        prop_assert!(read(&dir.path().join("pieces"), 3).unwrap() == body);
    }

    #[test]
    fn a_flipped_bit_is_noticed_in_large_files_too(at in 0.0..1.0_f64, bit in 0_u8..8) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write(&path, 3, &noise(2 * CHUNK + 999)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let at = (at * bytes.len() as f64) as usize;
        bytes[at] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        prop_assert_eq!(read(&path, 3).unwrap_err().exit_code(), 4);
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    for len in [0, 1, 100] {
        write(&path, 9, &noise(len)).unwrap();
        let good = fs::read(&path).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).unwrap();
            let error = read(&path, 9).unwrap_err();
            assert!(matches!(&error, Error::Corrupt { .. }), "bit {bit} of {len}: {error}");
            assert!(error.to_string().starts_with(&format!("{} at byte ", path.display())), "{error}");
        }
    }
}

#[test]
fn every_wrong_length_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    write(&path, 9, &noise(100)).unwrap();
    let good = fs::read(&path).unwrap();
    for len in 0..good.len() {
        fs::write(&path, &good[..len]).unwrap();
        assert_eq!(read(&path, 9).unwrap_err().exit_code(), 4, "cut to {len}");
        // Zeros in place of the end are what a file system leaves after a loss of power.
        let mut zeros = good[..len].to_vec();
        zeros.resize(good.len(), 0);
        if zeros != good {
            fs::write(&path, &zeros).unwrap();
            assert_eq!(read(&path, 9).unwrap_err().exit_code(), 4, "zeros from {len}");
        }
    }
    for more in [1, 63, 64, 128] {
        let longer = [good.as_slice(), &vec![0; more]].concat();
        fs::write(&path, longer).unwrap();
        assert_eq!(read(&path, 9).unwrap_err().exit_code(), 4, "{more} more");
    }
    let twice = [good.as_slice(), &good].concat();
    fs::write(&path, twice).unwrap();
    assert_eq!(read(&path, 9).unwrap_err().exit_code(), 4, "appended to itself");
}

#[test]
fn a_file_of_another_place_or_kind_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    write(&a, 1, &noise(100)).unwrap();
    write(&b, 2, &noise(100)).unwrap();
    let swapped = read(&a, 2).unwrap_err();
    assert!(swapped.to_string().contains("belongs elsewhere"), "{swapped}");
    let kind = Mapped::open(&a, Kind::new(b"ELSE"), 1).unwrap_err();
    assert!(kind.to_string().contains("TEST, expected ELSE"), "{kind}");
    // Halves of two whole files: each checksum holds, but they don't belong together.
    let (first, second) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
    fs::write(&a, [&first[..164], &second[164..]].concat()).unwrap();
    assert_eq!(read(&a, 1).unwrap_err().exit_code(), 4);
    fs::write(&a, [&first[..64], &second[64..164], &first[164..]].concat()).unwrap();
    assert!(read(&a, 1).is_ok(), "the same body in both files is no damage");
}

#[test]
fn chunks_that_changed_places_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    write(&path, 1, &noise(2 * CHUNK)).unwrap();
    let bytes = fs::read(&path).unwrap();
    let (one, two) = (&bytes[64..64 + CHUNK], &bytes[64 + CHUNK..64 + 2 * CHUNK]);
    fs::write(&path, [&bytes[..64], two, one, &bytes[64 + 2 * CHUNK..]].concat()).unwrap();
    assert_eq!(read(&path, 1).unwrap_err().exit_code(), 4);
}

#[test]
fn an_unfinished_file_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let mut file = NewFile::create(&path, KIND, 0).unwrap();
    file.write(&noise(3 << 20)).unwrap();
    assert_eq!(files_in(dir.path()).len(), 1);
    drop(file);
    assert!(files_in(dir.path()).is_empty());
    assert_eq!(NewFile::create(&dir.path().join("none/a"), KIND, 0).err().unwrap().exit_code(), 10);
}

#[test]
fn deferred_files_have_their_name_at_once_and_are_durable_after_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let syncer = Syncer::start().unwrap();
    for i in 0..200 {
        let path = dir.path().join(i.to_string());
        let mut file = NewFile::create(&path, KIND, i).unwrap();
        file.write(&noise(1000)).unwrap();
        let pending = file.finish_deferred().unwrap();
        assert!(path.exists());
        assert_eq!(syncer.push(pending).bytes, 1000);
    }
    syncer.wait().unwrap();
    syncer.wait().unwrap();
    for i in 0..200 {
        assert_eq!(read(&dir.path().join(i.to_string()), i).unwrap(), noise(1000));
    }
}

/// A file system of a few megabytes, unmounted when dropped. None where this process may not mount.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(mib: u32) -> Option<SmallDisk> {
        let dir = tempfile::tempdir().unwrap();
        let size = format!("size={mib}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "gpugraph"]).arg(dir.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(SmallDisk(dir));
        }
        println!("SKIPPED: full disk: mounting a small tmpfs needs root");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_said_and_leaves_what_was_there() {
    let Some(disk) = SmallDisk::mount(4) else { return };
    let (path, json) = (disk.0.path().join("a"), disk.0.path().join("b.json"));
    write(&path, 1, b"old").unwrap();
    replace(&json, b"old").unwrap();
    let (mut journal, _) = Journal::open(&disk.0.path().join("journal"), 1).unwrap();
    let error = write(&path, 1, &noise(6 << 20)).unwrap_err();
    assert_eq!(error.exit_code(), 6, "{error}");
    assert_eq!(read(&path, 1).unwrap(), b"old");
    assert_eq!(files_in(disk.0.path()).len(), 3, "the temporary file is gone");
    let mut holed = NewFile::create(&path, KIND, 1).unwrap();
    assert!(holed.write(&noise(6 << 20)).is_err());
    assert!(holed.finish().is_err(), "a file with a hole can't be finished, even should there be room for its footer");
    assert_eq!(read(&path, 1).unwrap(), b"old");
    let filler = disk.0.path().join("filler");
    assert!(fs::write(&filler, noise(6 << 20)).is_err(), "the disk is full now");
    assert_eq!(replace(&json, &noise(5000)).unwrap_err().exit_code(), 6);
    assert_eq!(fs::read(&json).unwrap(), b"old");
    // The journal takes records up to the end of its page, then says so, and carries on when there is room again.
    let mut done = 0;
    let error = loop {
        match journal.append(&[Record::of_words(done, &[1, 2, 3])]) {
            Ok(()) => done += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.exit_code(), 6, "{error}");
    fs::remove_file(filler).unwrap();
    journal.append(&[Record::of_words(done, &[1, 2, 3])]).unwrap();
    journal.sync().unwrap();
    let (_, records) = Journal::open(&disk.0.path().join("journal"), 1).unwrap();
    assert_eq!(records.len() as u64, done + 1);
    assert_eq!(distinct(&records).len() as u64, done + 1);
}

/// Runs `child` below in a process of its own.
fn run_child(what: &str, dir: &Path, env: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "store::child", "--ignored", "--nocapture"]);
    command.env("CHILD", what).env("CHILD_DIR", dir).envs(env.iter().copied());
    command.output().unwrap()
}

/// Replaces one old file of each sort by a new one.
#[test]
#[ignore = "run by other tests, in a process of its own"]
fn child() {
    let (Ok(what), Some(dir)) = (std::env::var("CHILD"), std::env::var_os("CHILD_DIR")) else { return };
    let dir = PathBuf::from(dir);
    let run = || -> Result<()> {
        match what.as_str() {
            "truncated" => {
                gpugraph::internals::process::signals::install()?;
                let file = Mapped::open(&dir.join("a"), KIND, 0)?;
                fs::OpenOptions::new().write(true).open(dir.join("a")).and_then(|f| f.set_len(0)).unwrap();
                file.verify_checksum()
            }
            _ => {
                write(&dir.join("sealed"), 1, &noise(3 << 20))?;
                replace(&dir.join("small.json"), b"new")?;
                let mut late = NewFile::create(&dir.join("late"), KIND, 1)?;
                late.write(b"new")?;
                let syncer = Syncer::start()?;
                syncer.push(late.finish_deferred()?);
                syncer.wait()?;
                let (mut journal, records) = Journal::open(&dir.join("journal"), 1)?;
                for unit in records.len() as u64..4 {
                    journal.append(&[Record::of_words(unit, &[unit * 10, 0, 0])])?;
                    journal.sync()?;
                }
                Ok(())
            }
        }
    };
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(error.exit_code().into());
    }
}

#[test]
fn a_truncation_under_a_mapping_is_one_line_and_exit_3() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("a"), 0, &noise(1 << 20)).unwrap();
    let output = run_child("truncated", dir.path(), &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let named = format!("error: {}: was truncated", dir.path().join("a").display());
    assert!(said.starts_with(&named) && said.lines().count() == 1, "{said}");
}

mod failpoints {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn old_state() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("sealed"), 1, b"old").unwrap();
        write(&dir.path().join("late"), 1, b"old").unwrap();
        replace(&dir.path().join("small.json"), b"old").unwrap();
        dir
    }

    /// Every file is the old one or the new one, and the journal a beginning of the right one.
    fn check(dir: &Path, when: &str) {
        let sealed = read(&dir.join("sealed"), 1).unwrap();
        assert!(sealed == b"old" || sealed == noise(3 << 20), "{when}");
        let late = read(&dir.join("late"), 1).unwrap();
        assert!(late == b"old" || late == b"new", "{when}");
        let small = fs::read(dir.join("small.json")).unwrap();
        assert!(small == b"old" || small == b"new", "{when}");
        let (_, records) = Journal::open(&dir.join("journal"), 1).unwrap();
        assert!(
            records.iter().enumerate().all(|(i, r)| *r == Record::of_words(i as u64, &[10 * i as u64, 0, 0])),
            "{when}"
        );
        assert!(records.len() <= 4);
    }

    /// Dies or fails at every hit of every failpoint; then what is there is whole, and a second run completes it.
    #[test]
    fn whatever_happens_anywhere_files_are_old_or_new() {
        let dir = old_state();
        let counts = dir.path().join("counts");
        let output = run_child("write", dir.path(), &[("GPUGRAPH_FAILPOINTS_COUNT", counts.to_str().unwrap())]);
        assert!(output.status.success(), "{output:?}");
        let counts = fs::read_to_string(counts).unwrap();
        let counts: Vec<(&str, u64)> =
            counts.lines().map(|l| l.split_once(' ').unwrap()).map(|(n, c)| (n, c.parse().unwrap())).collect();
        for name in "store.create store.write store.fsync store.rename store.dirsync replace.create replace.write \
                     replace.fsync replace.rename replace.dirsync journal.append journal.sync store.write.short"
            .split(' ')
            .filter(|name| !name.is_empty())
        {
            assert!(counts.iter().any(|(counted, _)| *counted == name), "{name} was never passed: {counts:?}");
        }
        for (name, hits) in counts {
            for at in 1..=hits {
                let actions: &[&str] = if name.ends_with(".short") { &["short"] } else { &["kill", "enospc", "eio"] };
                for action in actions {
                    let dir = old_state();
                    let rule = format!("{name}={at}:{action}");
                    let output = run_child("write", dir.path(), &[("GPUGRAPH_FAILPOINTS", &rule)]);
                    match *action {
                        "kill" => assert_eq!(output.status.signal(), Some(9), "{rule}: {output:?}"),
                        "enospc" => assert_eq!(output.status.code(), Some(6), "{rule}: {output:?}"),
                        "eio" => assert_eq!(output.status.code(), Some(10), "{rule}: {output:?}"),
                        _ => assert!(output.status.success(), "{rule}: {output:?}"),
                    }
                    check(dir.path(), &rule);
                    if *action != "kill" {
                        assert!(!files_in(dir.path()).iter().any(|f| f.contains(".tmp-")), "{rule} left a file");
                    }
                    let again = run_child("write", dir.path(), &[]);
                    assert!(again.status.success(), "after {rule}: {again:?}");
                    check(dir.path(), &rule);
                    assert_eq!(read(&dir.path().join("late"), 1).unwrap(), b"new", "after {rule}");
                    assert_eq!(Journal::open(&dir.path().join("journal"), 1).unwrap().1.len(), 4, "after {rule}");
                }
            }
        }
    }
}

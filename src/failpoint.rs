//! Failpoints: named points in the code at which a test makes the process die, fail or wait, to check that the files
//! on disk are complete at any time.
//!
//! Without the cargo feature `testing` every call compiles to nothing. With it:
//!
//! - `GPUGRAPH_FAILPOINTS="store.fsync=3:kill;unit.done=1:enospc"` acts at the third hit of `store.fsync` and at the
//!   first of `unit.done`. Actions: `kill` (SIGKILL to itself), `stop` (SIGTERM to itself), `enospc` and `eio` (the
//!   call returns that error), `panic`, `sleep(MS)`, and `short` (the read or write moves only one byte; see [`clip`]).
//! - `GPUGRAPH_NAME_HASH_BITS=N` keeps only N bits of each string's hash, so that different strings get the same hash.
//! - `GPUGRAPH_FAILPOINTS_COUNT=FILE` writes a line `NAME HITS` to FILE for each failpoint that was hit, so that a
//!   test can find them all. The file is rewritten at each hit, so that the counts of a killed process are complete,
//!   too.

pub use imp::{clip, hit, weakened};

#[cfg(not(feature = "testing"))]
mod imp {
    /// Marks the failpoint `name`. Without the feature `testing` it does nothing.
    ///
    /// # Errors
    /// Never in this build.
    #[inline(always)]
    pub fn hit(_name: &str) -> std::io::Result<()> {
        Ok(())
    }

    /// Returns how many of `len` bytes the next read or write may move: all of them without the feature `testing`.
    #[inline(always)]
    pub fn clip(_name: &str, len: usize) -> usize {
        len
    }

    /// Returns `hash` unchanged, without the feature `testing`.
    #[inline(always)]
    pub fn weakened(hash: u64) -> u64 {
        hash
    }
}

#[cfg(feature = "testing")]
mod imp {
    use parking_lot::Mutex;
    use std::collections::BTreeMap;
    use std::io;
    use std::os::unix::fs::FileExt;
    use std::sync::OnceLock;

    #[derive(Debug, Clone, PartialEq)]
    pub(super) enum Action {
        Kill,
        Stop,
        Fail(i32),
        Panic,
        Sleep(u64),
        Short,
    }

    #[derive(Debug, PartialEq)]
    pub(super) struct Rule {
        pub name: String,
        pub at: u64,
        pub action: Action,
    }

    struct State {
        rules: Vec<Rule>,
        hits: BTreeMap<String, u64>,
        count: Option<std::fs::File>,
    }

    pub(super) fn parse(text: &str) -> Result<Vec<Rule>, String> {
        let rule = |part: &str| {
            let (name, rest) = part.split_once('=')?;
            let (at, action) = rest.split_once(':')?;
            let action = match action {
                "kill" => Action::Kill,
                "stop" => Action::Stop,
                "enospc" => Action::Fail(libc::ENOSPC),
                "eio" => Action::Fail(libc::EIO),
                "panic" => Action::Panic,
                "short" => Action::Short,
                other => Action::Sleep(other.strip_prefix("sleep(")?.strip_suffix(')')?.parse().ok()?),
            };
            Some(Rule { name: name.to_owned(), at: at.parse().ok()?, action })
        };
        let parts = text.split(';').filter(|part| !part.is_empty());
        parts.map(|part| rule(part).ok_or_else(|| format!("GPUGRAPH_FAILPOINTS: can't read {part:?}"))).collect()
    }

    fn state() -> &'static Mutex<State> {
        static STATE: OnceLock<Mutex<State>> = OnceLock::new();
        STATE.get_or_init(|| {
            // A misspelt rule must not let a test pass because nothing happens.
            let rules = parse(&std::env::var("GPUGRAPH_FAILPOINTS").unwrap_or_default()).expect("failpoint rules");
            let count = std::env::var_os("GPUGRAPH_FAILPOINTS_COUNT")
                .map(|path| std::fs::File::create(path).expect("file of failpoint counts"));
            Mutex::new(State { rules, hits: BTreeMap::new(), count })
        })
    }

    /// Counts a hit of the failpoint `name`, and returns the action of the rule that applies to this hit, if any.
    fn count(name: &str) -> Option<Action> {
        let mut state = state().lock();
        let State { rules, hits, count } = &mut *state;
        let n = hits.entry(name.to_owned()).or_insert(0);
        *n += 1;
        let action = rules.iter().find(|rule| rule.name == name && rule.at == *n).map(|rule| rule.action.clone());
        if let Some(file) = count {
            // Lines only get longer and names are only added, so the new text always covers the old one.
            let text: String = hits.iter().map(|(name, hits)| format!("{name} {hits}\n")).collect();
            let _ = file.write_all_at(text.as_bytes(), 0);
        }
        action
    }

    /// Marks the failpoint `name`: counts a hit, and acts if `GPUGRAPH_FAILPOINTS` has a rule for this hit.
    ///
    /// # Errors
    /// The error that the rule names.
    pub fn hit(name: &str) -> io::Result<()> {
        match count(name) {
            None | Some(Action::Short) => {}
            Some(Action::Kill) => {
                let _ = signal_hook::low_level::raise(libc::SIGKILL);
            }
            Some(Action::Stop) => {
                let _ = signal_hook::low_level::raise(libc::SIGTERM);
            }
            Some(Action::Fail(code)) => return Err(io::Error::from_raw_os_error(code)),
            Some(Action::Panic) => panic!("failpoint {name}"),
            Some(Action::Sleep(ms)) => std::thread::sleep(std::time::Duration::from_millis(ms)),
        }
        Ok(())
    }

    /// Returns how many of `len` bytes the next read or write may move: 1 if a rule says `short`, otherwise all. Counts
    /// a hit.
    pub fn clip(name: &str, len: usize) -> usize {
        if count(name) == Some(Action::Short) { len.min(1) } else { len }
    }

    /// Clears all but the upper `GPUGRAPH_NAME_HASH_BITS` bits of `hash`. Returns `hash` unchanged if the variable is
    /// not set.
    pub fn weakened(hash: u64) -> u64 {
        static KEPT: OnceLock<u64> = OnceLock::new();
        hash & KEPT.get_or_init(|| {
            let bits = std::env::var("GPUGRAPH_NAME_HASH_BITS").ok();
            let bits = bits.map(|bits| bits.parse::<u32>().expect("GPUGRAPH_NAME_HASH_BITS"));
            bits.map_or(u64::MAX, |bits| !u64::MAX.checked_shr(bits).unwrap_or(0))
        })
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::imp::{Action, Rule, parse};

    #[test]
    fn rules_are_read() {
        let rules = parse("store.fsync=3:kill;unit.done=1:enospc;a=2:sleep(50);").unwrap();
        let rule = |name: &str, at, action| Rule { name: name.to_owned(), at, action };
        assert_eq!(
            rules,
            [
                rule("store.fsync", 3, Action::Kill),
                rule("unit.done", 1, Action::Fail(libc::ENOSPC)),
                rule("a", 2, Action::Sleep(50))
            ]
        );
        for bad in ["a", "a=1", "a=x:kill", "a=1:explode", "a=1:sleep(x)"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}

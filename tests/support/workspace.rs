//! A GPU's memory for tests of what lies in it: they run again in a process that finds the stand-in for CUDA.

use parking_lot::Mutex;
use std::process::Command;

use gpugraph::internals::gpu::{ProgramSource, Workspace};
use gpugraph::internals::memory::Budget;

use crate::support::{Place, cuda_on_cpu};

/// 1 MiB of the stand-in's memory, in a process of its own with these settings: this test, which is `name`, once more. None in
/// the process that starts it, or without g++.
pub fn workspace(name: &str, settings: &[(&str, &str)]) -> Option<Workspace> {
    with(name, settings, || {
        let budget = Budget::new(1 << 30, 1).expect("room");
        Workspace::open(None, Some(1 << 20), 1, &gpugraph::internals::prepare::gpu::programs(false), &budget, &())
            .expect("a GPU")
    })
}

/// The host memory of a search.
pub fn budget() -> Budget {
    Budget::new(64 << 20, 1).expect("room")
}

/// Runs `body` on 32 MiB of the stand-in's memory with these programs of searches: this test, which is `name`, once in each of these orders of threads; "0"
/// is the natural one.
pub fn in_orders(name: &str, programs: &[&'static ProgramSource], seeds: &[&str], body: impl Fn(&Mutex<Workspace>)) {
    let settings: Vec<_> = seeds.iter().map(|seed| [("CUDA_ON_CPU_SEED", *seed)]).collect();
    with_each(name, programs, &settings.iter().map(|one| &one[..]).collect::<Vec<_>>(), body);
}

/// Runs `body` likewise, once for each of these settings.
pub fn with_each(
    name: &str,
    programs: &[&'static ProgramSource],
    settings: &[&[(&str, &str)]],
    body: impl Fn(&Mutex<Workspace>),
) {
    for settings in settings {
        let open = || Workspace::open(None, Some(32 << 20), 3, programs, &budget(), &()).expect("a GPU");
        let Some(gpu) = with(name, settings, open) else { continue };
        body(&Mutex::new(gpu));
        return;
    }
}

/// What `open` makes, in such a process.
pub fn with<T>(name: &str, settings: &[(&str, &str)], open: impl Fn() -> T) -> Option<T> {
    let cuda = cuda_on_cpu()?;
    if std::env::var_os("CUDA_ON_CPU_CASE").is_some_and(|case| case == name) {
        return Some(open());
    }
    let place = Place::new();
    let mut again = Command::new(std::env::current_exe().expect("this test"));
    again.args([name, "--exact", "--nocapture"]).env("CUDA_ON_CPU_CASE", name).envs(settings.iter().copied());
    let ran = again.env("LD_LIBRARY_PATH", cuda).env("XDG_CACHE_HOME", place.path("cache")).output();
    let ran = ran.expect("run this test again");
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("1 passed"), "{out}\n{}", String::from_utf8_lossy(&ran.stderr));
    None
}

//! A GPU's memory for tests of what lies in it: they run again in a process that finds the stand-in for CUDA.

use std::process::Command;

use gpugraph::gpu::Workspace;
use gpugraph::memory::Budget;

use crate::support::{Place, cuda_on_cpu};

/// 1 MiB of the stand-in's memory, in a process of its own with these settings: this test, which is `name`, once more. None in
/// the process that starts it, or without g++.
pub fn workspace(name: &str, settings: &[(&str, &str)]) -> Option<Workspace> {
    with(name, settings, || {
        let budget = Budget::new(1 << 30, 1).expect("room");
        Workspace::open(None, Some(1 << 20), 1, &gpugraph::prepare::gpu::programs(false), &budget, &()).expect("a GPU")
    })
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

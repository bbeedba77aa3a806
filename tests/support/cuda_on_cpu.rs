//! Builds the stand-ins for CUDA's libraries (tests/cuda_on_cpu), so that GPU code runs where no GPU is.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Built once with the kernels in `folders`, and again when a source has changed; the folder they are in.
pub fn build<'a>(name: &str, folders: impl IntoIterator<Item = &'a Path>) -> Option<PathBuf> {
    if Command::new("g++").arg("--version").output().is_err() {
        println!("SKIPPED: no g++ to build tests/cuda_on_cpu with");
        return None;
    }
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda_on_cpu").join(name);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda_on_cpu/build");
    let ran = Command::new("bash").arg(script).arg(&out).args(folders).output().expect("bash");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(out)
}

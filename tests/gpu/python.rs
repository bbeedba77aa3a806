//! NVRTC is found in a Python environment: an active one, conda's, and one that gpugraph itself is installed in.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, Ran, cuda_on_cpu};

/// The folder `nvidia` that pip filled, with NVRTC 13 and 12.
fn packages() -> Option<PathBuf> {
    let pythons = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/lib")).into_iter().flatten().flatten();
    let mut folders = pythons.map(|python| python.path().join("site-packages/nvidia"));
    let found = folders.find(|nvidia| nvidia.join("cu13/lib").is_dir() && nvidia.join("cuda_nvrtc/lib").is_dir());
    if found.is_none() {
        println!("SKIPPED: NVRTC 13 and 12 are not in .venv; tests/run gets them");
    }
    found
}

/// Version of the NVRTC that `devices --json` reports.
fn version(command: &mut Command) -> Option<String> {
    let found: serde_json::Value = serde_json::from_str(&Ran::command(command).expect(0).out).expect("JSON");
    found["cuda"]["nvrtc_version"].as_str().map(str::to_owned)
}

#[test]
fn nvrtc_of_a_python_environment_is_found() {
    let (place, Some(nvidia)) = (Place::new(), packages()) else { return };
    let devices = || place.command(&["devices", "--json"]);
    if version(&mut devices()).is_some() {
        println!("SKIPPED: this machine has NVRTC where the loader finds it");
        return;
    }
    // An environment for each layout: CUDA 13 and 12 as pip installs them, and CUDA 12 as conda does.
    let layouts = [
        ("pip13", "lib/python3.12/site-packages/nvidia/cu13", "cu13", "13.0"),
        ("pip12", "lib/python3.9/site-packages/nvidia/cuda_nvrtc", "cuda_nvrtc", "12.9"),
        ("conda12", "", "cuda_nvrtc", "12.9"),
    ];
    for (name, at, package, expected) in layouts {
        let root = place.path(name);
        let at = root.join(at);
        fs::create_dir_all(&at).expect("a folder");
        symlink(nvidia.join(package).join("lib"), at.join("lib")).expect("a link");
        for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
            assert_eq!(version(devices().env(variable, &root)).as_deref(), Some(expected), "{name} by {variable}");
        }
        // A copy of gpugraph in the environment needs no variable.
        let binary = root.join("bin/gpugraph");
        fs::create_dir_all(root.join("bin")).expect("a folder");
        fs::copy(env!("CARGO_BIN_EXE_gpugraph"), &binary).expect("copy");
        let mut installed = Command::new(&binary);
        installed.args(["devices", "--json"]).env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX");
        assert_eq!(version(&mut installed).as_deref(), Some(expected), "{name} next to gpugraph");
    }
    assert_eq!(version(devices().env("VIRTUAL_ENV", place.path("nowhere"))), None);
    // What the loader finds, such as a site's module, comes first.
    let Some(cuda) = cuda_on_cpu() else { return };
    let mut module = place.command_on(&cuda, &["devices", "--json"]);
    assert_eq!(version(module.env("VIRTUAL_ENV", place.path("pip12"))).as_deref(), Some("13.0"));
}

//! Access to CUDA through its driver, which this process loads at run time.
#![allow(unsafe_code)] // cudarc's functions that look for a library are unsafe

use super::{Cuda, Gpu, visible};
use cudarc::driver::sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
};
use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaContext, result};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NO_GPU: &str = "a GPU: the driver sees none; check CUDA_VISIBLE_DEVICES and the GPUs that the job requested";

pub(super) const NVRTC_REMEDY: &str = "load the site's CUDA module, or run pip install nvidia-cuda-nvrtc (with a driver of CUDA 12: \
     nvidia-cuda-nvrtc-cu12) and activate that Python environment";

/// Loads the CUDA driver and NVRTC (the run-time compiler), without starting CUDA. Returns `(has_driver, has_nvrtc)`:
/// whether each of the two libraries is present.
pub fn load() -> (bool, bool) {
    use cudarc::{driver::sys as driver, nvrtc::sys as nvrtc};
    if super::STATIC {
        return (false, false);
    }
    let has_nvrtc = load_nvrtc();
    // SAFETY: these only load a library by its name. `culib` keeps it loaded. It is called only if the library is
    // present, because it panics otherwise.
    unsafe {
        let present = (driver::is_culib_present(), has_nvrtc);
        let _stays = (present.0.then(|| driver::culib()), present.1.then(|| nvrtc::culib()));
        present
    }
}

/// Returns whether NVRTC is present. If the dynamic loader does not find NVRTC, this function tries to load it from a
/// Python environment.
pub(super) fn load_nvrtc() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: only tries to load the library by its name. The loader also finds it by name if it is already loaded.
    let found = || unsafe { cudarc::nvrtc::sys::is_culib_present() };
    *PRESENT.get_or_init(|| {
        let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(|name| std::env::var_os(name).map(PathBuf::from));
        let binary = std::env::current_exe().ok();
        let around = binary.iter().filter_map(|path| path.parent()?.parent().map(Path::to_owned));
        found() || environments.into_iter().flatten().chain(around).any(|root| load_nvrtc_of(&root) && found())
    })
}

/// Loads NVRTC from the Python environment `root`, if it has one: from the packages `nvidia-cuda-nvrtc` (CUDA 13) and
/// `nvidia-cuda-nvrtc-cu12` of PyPI, or conda's `cuda-nvrtc`.
fn load_nvrtc_of(root: &Path) -> bool {
    let lib = root.join("lib");
    let pythons = entries(&lib, "python3").map(|python| python.join("site-packages/nvidia"));
    let folders = pythons.flat_map(|nvidia| [nvidia.join("cu13/lib"), nvidia.join("cuda_nvrtc/lib")]);
    folders.chain([lib.clone()]).any(|folder| {
        let libraries = ["libnvrtc.so.13", "libnvrtc.so.12"].map(|name| folder.join(name));
        let Some(library) = libraries.iter().find(|path| path.is_file()) else { return false };
        // NVRTC loads its builtins by name, and NVRTC 12 does not look for them in its own folder.
        entries(&folder, "libnvrtc-builtins.so.").all(|builtins| open(&builtins)) && open(library)
    })
}

/// Yields the paths in a folder whose file names begin with `prefix`.
fn entries<'a>(folder: &Path, prefix: &'a str) -> impl Iterator<Item = PathBuf> + use<'a> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    all.filter(move |entry| entry.file_name().as_bytes().starts_with(prefix.as_bytes())).map(|entry| entry.path())
}

/// Loads a library that stays loaded until the process ends. Returns whether that succeeded.
fn open(library: &Path) -> bool {
    let Ok(path) = CString::new(library.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path ends with a zero. The library is NVIDIA's, so its initialisers are the same as when it is loaded
    // by name.
    unsafe { !libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL).is_null() }
}

/// Looks for CUDA and its GPUs. Does not fail: the result lists the missing components.
pub fn probe() -> Cuda {
    let (gpus, missing) = (Vec::new(), Vec::new());
    let kernels = super::source::cache();
    let mut cuda = Cuda { driver: None, nvrtc: false, nvrtc_version: None, kernels, gpus, missing };
    if super::STATIC {
        cuda.missing
            .push("CUDA: this gpugraph is linked statically and uses CPUs only; install one that is not".into());
        return cuda;
    }
    let (has_driver, has_nvrtc) = load();
    cuda.nvrtc = has_nvrtc;
    if has_nvrtc {
        cuda.nvrtc_version = nvrtc_version().map(|(major, minor)| format!("{major}.{minor}"));
    } else {
        cuda.missing.push(format!("NVRTC (libnvrtc.so): {NVRTC_REMEDY}"));
    }
    if !has_driver {
        cuda.missing.push("CUDA driver (libcuda.so.1): install NVIDIA's driver, or ask for a node with a GPU".into());
        return cuda;
    }
    match devices() {
        // The driver refuses to start if it sees no GPU.
        Err(result::DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => cuda.missing.push(NO_GPU.into()),
        Ok((driver, gpus)) => {
            cuda.driver = Some(driver);
            if gpus.is_empty() {
                cuda.missing.push(NO_GPU.into());
            }
            cuda.gpus = gpus;
        }
        Err(e) => cuda.missing.push(format!("a working CUDA driver: it answers {:?}; check nvidia-smi", e.0)),
    }
    cuda
}

/// Returns the version of NVRTC. The caller must have loaded NVRTC.
pub(super) fn nvrtc_version() -> Option<(i32, i32)> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two ints to valid addresses.
    unsafe { cudarc::nvrtc::sys::nvrtcVersion(&mut major, &mut minor).result().ok()? };
    Some((major, minor))
}

/// Returns the free memory of GPU `index`, in bytes.
///
/// # Errors
/// The reason why the GPU can't be opened, in words.
pub fn free_memory(index: u32) -> Result<u64, String> {
    let free = CudaContext::new(ordinal(index)).and_then(|context| context.mem_get_info());
    free.map(|(free, _)| free as u64).map_err(|e| format!("{:?}; check nvidia-smi", e.0))
}

/// Returns the ordinal by which the driver identifies the GPU with the index `index`.
pub(super) fn ordinal(index: u32) -> usize {
    if visible::visible_gpu().is_some() { 0 } else { index as usize }
}

fn devices() -> Result<(String, Vec<Gpu>), result::DriverError> {
    result::init()?;
    let mut version = 0;
    // SAFETY: writes one int to a valid address.
    unsafe { cudarc::driver::sys::cuDriverGetVersion(&mut version).result()? };
    let gpu = |index: i32| -> Result<Gpu, result::DriverError> {
        let device = result::device::get(index)?;
        // SAFETY: the driver has just returned this device.
        let (major, minor, memory) = unsafe {
            let attribute = |which| result::device::get_attribute(device, which);
            (attribute(MAJOR)?, attribute(MINOR)?, result::device::total_mem(device)?)
        };
        let name = result::device::get_name(device)?;
        let uuid = result::device::get_uuid(device)?.bytes.map(|byte| format!("{:02x}", byte as u8)).concat();
        Ok(Gpu {
            index: visible::visible_gpu().map_or(index as u32, |seen| seen.index),
            uuid,
            name,
            capability: format!("{major}.{minor}"),
            memory: memory as u64,
            memory_free: None,
        })
    };
    let gpus = (0..result::device::get_count()?).map(gpu).collect::<Result<_, _>>()?;
    Ok((format!("{}.{}", version / 1000, version % 1000 / 10), gpus))
}

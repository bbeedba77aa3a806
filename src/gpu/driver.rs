//! Access to CUDA through its driver, which this process loads at run time.
#![allow(unsafe_code)] // cudarc's functions that look for a library are unsafe

use super::{Cuda, Gpu, visible};
use cudarc::driver::sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
};
use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaContext, result};

const NO_GPU: &str = "a GPU: the driver sees none; check CUDA_VISIBLE_DEVICES and the GPUs that the job requested";

/// Loads the CUDA driver and NVRTC (the run-time compiler), without starting CUDA. Returns whether each of the two
/// libraries is present.
pub fn load() -> (bool, bool) {
    use cudarc::{driver::sys as driver, nvrtc::sys as nvrtc};
    // SAFETY: these only load a library by its name. `culib` keeps it loaded. It is called only if the library is
    // present, because it panics otherwise.
    unsafe {
        let present = (driver::is_culib_present(), nvrtc::is_culib_present());
        let _stays = (present.0.then(|| driver::culib()), present.1.then(|| nvrtc::culib()));
        present
    }
}

/// Looks for CUDA and its GPUs. It never fails, because the result lists the missing parts.
pub fn probe() -> Cuda {
    let (gpus, missing) = (Vec::new(), Vec::new());
    let kernels = super::source::cache();
    let mut cuda = Cuda { driver: None, nvrtc: false, nvrtc_version: None, kernels, gpus, missing };
    let (has_driver, has_nvrtc) = load();
    cuda.nvrtc = has_nvrtc;
    if has_nvrtc {
        cuda.nvrtc_version = nvrtc_version();
    } else {
        cuda.missing.push("NVRTC (libnvrtc.so): load the site's CUDA module, or install the package cuda-nvrtc".into());
    }
    if !has_driver {
        cuda.missing.push("CUDA driver (libcuda.so.1): install NVIDIA's driver, or ask for a node with a GPU".into());
        return cuda;
    }
    match devices() {
        // A driver that sees no GPU does not even start.
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

/// Returns the version of NVRTC, which must have been loaded.
fn nvrtc_version() -> Option<String> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two ints to valid places.
    unsafe { cudarc::nvrtc::sys::nvrtcVersion(&mut major, &mut minor).result().ok()? };
    Some(format!("{major}.{minor}"))
}

/// Returns the free memory of GPU `index`, in bytes.
///
/// # Errors
/// The reason why the GPU can't be opened, in words.
pub fn free_memory(index: u32) -> Result<u64, String> {
    let free = CudaContext::new(ordinal(index)).and_then(|context| context.mem_get_info());
    free.map(|(free, _)| free as u64).map_err(|e| format!("{:?}; check nvidia-smi", e.0))
}

/// Returns the driver's number for the GPU with the index `index`.
pub(super) fn ordinal(index: u32) -> usize {
    if visible::visible_gpu().is_some() { 0 } else { index as usize }
}

fn devices() -> Result<(String, Vec<Gpu>), result::DriverError> {
    result::init()?;
    let mut version = 0;
    // SAFETY: writes one int to a valid place.
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

//! Energy use and utilisation of a GPU, read through NVIDIA's management library (NVML), if it is installed.

use super::users::nvml_uuid;
use super::{Gpu, visible};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

/// Meter of the energy and utilisation of one GPU.
pub struct GpuMeter {
    library: Nvml,
    /// UUID of the GPU in the notation of NVML.
    uuid: String,
}

impl GpuMeter {
    /// Opens the meter of a GPU. Some GPUs, and partitions of a GPU (MIG), do not report every value.
    ///
    /// # Errors
    /// The reason why there is no meter, in words.
    pub fn open(gpu: &Gpu) -> Result<GpuMeter, String> {
        let library = Nvml::init().map_err(|e| format!("NVML: {e}"))?;
        let meter = GpuMeter { library, uuid: nvml_uuid(&gpu.uuid) };
        meter.device().map(drop).map_err(|e| format!("NVML: {e}"))?;
        Ok(meter)
    }

    fn device(&self) -> Result<nvml_wrapper::Device<'_>, NvmlError> {
        self.library.device_by_uuid(self.uuid.as_str())
    }

    /// Returns the fraction of the last second (or less) in which a kernel of any process ran on the GPU.
    ///
    /// # Errors
    /// The reason why it can't be read, in words.
    pub fn busy(&self) -> Result<f64, String> {
        let rates = self.device().and_then(|device| device.utilization_rates());
        rates.map(|rates| f64::from(rates.gpu.min(100)) / 100.0).map_err(|e| format!("NVML: {e}"))
    }

    /// Returns the energy that the GPU has consumed since the driver was loaded, in joules.
    ///
    /// # Errors
    /// The reason why it can't be read, in words.
    pub fn joules(&self) -> Result<f64, String> {
        let millijoules = self.device().and_then(|device| device.total_energy_consumption());
        millijoules.map(|millijoules| millijoules as f64 / 1e3).map_err(|e| format!("NVML: {e}"))
    }
}

/// Returns the compute capability of GPU `index` (or of the first one) without starting CUDA. CUDA may number GPUs
/// differently, so this is a guess if the machine has GPUs of several kinds.
pub(super) fn likely_capability(index: Option<u32>) -> Option<String> {
    if visible::all_hidden() {
        return None;
    }
    let library = Nvml::init().ok()?;
    let index = visible::visible_gpu().map(|seen| seen.index).or(index).unwrap_or(0);
    let capability = library.device_by_index(index).and_then(|device| device.cuda_compute_capability()).ok()?;
    Some(format!("{}.{}", capability.major, capability.minor))
}

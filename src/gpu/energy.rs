//! Energy that a GPU takes and how busy it is, by NVIDIA's management library, which is loaded where there is one.

use super::device::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

/// Returns the uuid of a GPU as NVML writes it, by its 32 hexadecimal digits.
pub(super) fn nvml_uuid(hex: &str) -> String {
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    format!("GPU-{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

/// The meter of one GPU.
pub struct GpuMeter {
    library: Nvml,
    uuid: String,
}

impl GpuMeter {
    /// Opens the meter of the GPU with this [uuid](Self::uuid), or says why there is none. Of GPUs of some kinds, and of parts of one, it can't
    /// tell all.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn open(uuid: String) -> Result<GpuMeter, String> {
        let library = Nvml::init().map_err(|e| format!("NVML: {e}"))?;
        let meter = GpuMeter { library, uuid };
        meter.device().map(drop).map_err(|e| format!("NVML: {e}"))?;
        Ok(meter)
    }

    /// Returns the name by which the meter of a GPU is found, which no other GPU has.
    ///
    /// # Errors
    /// The reason why there is none, in words.
    pub fn uuid(device: &Device) -> Result<String, String> {
        let bytes = device.context().uuid().map_err(|e| format!("the GPU's number: {e}"))?.bytes;
        let hex: String = bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
        Ok(nvml_uuid(&hex))
    }

    fn device(&self) -> Result<nvml_wrapper::Device<'_>, NvmlError> {
        self.library.device_by_uuid(self.uuid.as_str())
    }

    /// Returns the share of time in which a kernel ran on the GPU, of whichever process, in the last second or less.
    ///
    /// # Errors
    /// Why it can't be read, in words.
    pub fn busy(&self) -> Result<f64, String> {
        let rates = self.device().and_then(|device| device.utilization_rates());
        rates.map(|rates| f64::from(rates.gpu.min(100)) / 100.0).map_err(|e| format!("NVML: {e}"))
    }

    /// Returns the joules since the driver was loaded.
    ///
    /// # Errors
    /// Why they can't be read, in words.
    pub fn joules(&self) -> Result<f64, String> {
        let millijoules = self.device().and_then(|device| device.total_energy_consumption());
        millijoules.map(|millijoules| millijoules as f64 / 1e3).map_err(|e| format!("NVML: {e}"))
    }
}

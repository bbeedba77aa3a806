//! Energy of an algorithm: what a GPU and the processors took while it ran.

use crate::gpu::{Device, GpuMeter};
use crate::process::energy::{CpuMeter, Reading};
use serde_json::{Value, json};
use std::time::Instant;

/// Seconds that work is repeated for: meters move in steps of up to a tenth of a second.
pub const SECONDS: f64 = 3.0;

/// The meters of this machine, or why there are none.
pub struct Meters {
    gpu: Result<GpuMeter, String>,
    cpu: Result<CpuMeter, String>,
}

/// A reading of the meters.
pub struct Begun<'m> {
    meters: &'m Meters,
    gpu: Result<f64, String>,
    cpu: Result<Reading, String>,
    started: Instant,
}

impl Meters {
    /// Opens those of the processors, and of the GPU if there is one.
    pub fn open(device: Option<&Device>) -> Meters {
        let gpu = device.map_or_else(|| Err("no GPU is in use".into()), GpuMeter::open);
        Meters { gpu, cpu: CpuMeter::open() }
    }

    /// Begins to measure.
    pub fn begin(&self) -> Begun<'_> {
        let gpu = self.gpu.as_ref().map_err(String::clone).and_then(GpuMeter::joules);
        let cpu = self.cpu.as_ref().map_err(String::clone).and_then(CpuMeter::read);
        Begun { meters: self, gpu, cpu, started: Instant::now() }
    }
}

impl Begun<'_> {
    /// Returns the seconds up to now.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Ends: returns seconds, and the joules of what could be read, for the report; where nothing could, a sentence.
    pub fn end(self) -> Value {
        let seconds = self.seconds();
        let gpu = self.gpu.and_then(|before| Ok(self.meters.gpu.as_ref().map_err(String::clone)?.joules()? - before));
        let cpu = self.cpu.and_then(|before| self.meters.cpu.as_ref().map_err(String::clone)?.joules_since(&before));
        if let (Err(gpu), Err(cpu)) = (&gpu, &cpu) {
            return json!({ "seconds": seconds, "note": format!("no energy could be read ({gpu}; {cpu})") });
        }
        let joules = gpu.as_ref().unwrap_or(&0.0) + cpu.as_ref().unwrap_or(&0.0);
        json!({ "seconds": seconds, "joules": joules, "gpu_joules": gpu.ok(), "cpu_joules": cpu.ok() })
    }
}

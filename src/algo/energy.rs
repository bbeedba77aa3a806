//! Energy of an algorithm: what GPUs and processors of all ranks took while it ran.

use crate::comm::{Comm, is_first_of};
use crate::gpu::{Device, GpuMeter};
use crate::process::energy::{CpuMeter, Reading};
use crate::process::host;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Instant;

/// Seconds that work is repeated for: meters move in steps of up to a tenth of a second.
pub const SECONDS: f64 = 3.0;

/// The meters that this rank reads, or why it can't. No two ranks read the same meter: a GPU's is read by the first rank that uses the GPU,
/// and the processors' by the first rank of a machine.
pub struct Meters {
    gpu: Option<Result<GpuMeter, String>>,
    cpu: Option<Result<CpuMeter, String>>,
}

/// A reading of the meters.
pub struct Begun<'m> {
    meters: &'m Meters,
    gpu: Option<Result<f64, String>>,
    cpu: Option<Result<Reading, String>>,
    started: Instant,
}

/// The joules that one rank read; `None` where it reads no meter of the kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Joules {
    gpu: Option<Result<f64, String>>,
    cpu: Option<Result<f64, String>>,
}

impl Meters {
    /// Opens those of the processors of every machine, and of every GPU that a rank uses; `device` is this rank's. Collective.
    pub fn open(device: Option<&Device>, comm: &Comm) -> Meters {
        let uuid = device.map(GpuMeter::uuid);
        // What has no number tells why.
        let name = uuid.as_ref().map(|uuid| uuid.as_ref().unwrap_or_else(|why| why).as_str());
        let is_first = is_first_of(comm, name);
        let gpu = uuid.filter(|_| is_first).map(|uuid| GpuMeter::open(uuid?));
        Meters { gpu, cpu: is_first_of(comm, Some(&host::name())).then(CpuMeter::open) }
    }

    /// Begins to measure.
    pub fn begin(&self) -> Begun<'_> {
        let gpu = self.gpu.as_ref().map(|meter| meter.as_ref().map_err(String::clone)?.joules());
        let cpu = self.cpu.as_ref().map(|meter| meter.as_ref().map_err(String::clone)?.read());
        Begun { meters: self, gpu, cpu, started: Instant::now() }
    }
}

impl Begun<'_> {
    /// Returns the seconds up to now.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Ends: returns seconds, and the joules that the meters of all ranks read, for the report; where none could be read, a sentence. Collective.
    pub fn end(self, comm: &Comm) -> Value {
        let seconds = self.seconds();
        let meters = self.meters;
        let gpu = meters.gpu.as_ref().zip(self.gpu);
        let gpu = gpu.map(|(meter, before)| Ok(meter.as_ref().map_err(String::clone)?.joules()? - before?));
        let cpu = meters.cpu.as_ref().zip(self.cpu);
        let cpu = cpu.map(|(meter, before)| meter.as_ref().map_err(String::clone)?.joules_since(&before?));
        let mine = serde_json::to_vec(&Joules { gpu, cpu }).unwrap_or_default();
        let all = comm.all_gather(&mine);
        let all: Vec<Joules> = all.iter().filter_map(|told| serde_json::from_slice(told).ok()).collect();
        told(seconds, &all)
    }
}

/// Returns what the report tells of the joules of all ranks: those of a kind count where every meter of it could be read.
fn told(seconds: f64, ranks: &[Joules]) -> Value {
    let sum = |of: fn(&Joules) -> &Option<Result<f64, String>>, none: &str| {
        let read: Vec<f64> = ranks.iter().filter_map(|rank| of(rank).clone()).collect::<Result<_, _>>()?;
        if read.is_empty() { Err(none.to_owned()) } else { Ok(read.iter().sum::<f64>()) }
    };
    let gpu: Result<f64, String> = sum(|rank| &rank.gpu, "no GPU is in use");
    let cpu = sum(|rank| &rank.cpu, "no processor has a meter");
    if let (Err(gpu), Err(cpu)) = (&gpu, &cpu) {
        return json!({ "seconds": seconds, "note": format!("no energy could be read ({gpu}; {cpu})") });
    }
    let joules = gpu.as_ref().unwrap_or(&0.0) + cpu.as_ref().unwrap_or(&0.0);
    json!({ "seconds": seconds, "joules": joules, "gpu_joules": gpu.ok(), "cpu_joules": cpu.ok() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joules_of_all_ranks_are_added_up() {
        let rank = |gpu: Option<f64>, cpu: Option<f64>| Joules { gpu: gpu.map(Ok), cpu: cpu.map(Ok) };
        let both = told(3.0, &[rank(Some(10.0), Some(4.0)), rank(Some(20.0), None), Joules::default()]);
        assert_eq!(both, json!({ "seconds": 3.0, "joules": 34.0, "gpu_joules": 30.0, "cpu_joules": 4.0 }));
    }

    #[test]
    fn a_part_of_the_joules_of_a_kind_is_not_told_as_all() {
        let failed = || Some(Err("NVML: gone".to_owned()));
        let ranks = [Joules { gpu: Some(Ok(10.0)), cpu: Some(Ok(4.0)) }, Joules { gpu: failed(), cpu: None }];
        let cpu = told(3.0, &ranks);
        assert_eq!(cpu, json!({ "seconds": 3.0, "joules": 4.0, "gpu_joules": null, "cpu_joules": 4.0 }));
        let none = told(3.0, &[Joules { gpu: failed(), cpu: Some(Err("no counters".into())) }]);
        assert_eq!(none["note"], "no energy could be read (NVML: gone; no counters)");
    }
}

//! Measures the energy that the GPUs and processors of all ranks consume while an algorithm runs.

use crate::comm::{Comm, is_first_of};
use crate::gpu::{Device, GpuMeter};
use crate::process::energy::{CpuMeter, Reading};
use crate::process::host;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Minimum duration of an energy measurement, in seconds. The algorithm is repeated until this time has passed. A
/// shorter measurement is inexact, because meters advance in steps of up to a tenth of a second.
pub const SECONDS: f64 = 3.0;

/// The energy meters that this rank reads, or the reason why it can't read them. Each meter is read by one rank: the
/// meter of a GPU by the first rank that uses the GPU, and the meter of a machine's processors by the first rank there.
pub struct Meters {
    gpu: Option<Result<GpuMeter, String>>,
    cpu: Option<Result<CpuMeter, String>>,
}

/// An energy measurement that has begun.
pub struct Measurement<'m> {
    meters: &'m Meters,
    gpu: Option<Result<f64, String>>,
    cpu: Option<Result<Reading, String>>,
    started: Instant,
}

/// Energy that an algorithm consumed in several repetitions (rounds).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Duration of the energy measurement in seconds.
    pub seconds: f64,
    /// Reason why no energy meter could be read; `None` if at least one could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Energy of all ranks in joules: the sum of `gpu_joules` and `cpu_joules`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules: Option<f64>,
    /// Energy of all GPUs in joules; `None` if the meter of any GPU could not be read.
    #[serde(default)]
    pub gpu_joules: Option<f64>,
    /// Energy of all processors in joules; `None` if the meter of any machine could not be read.
    #[serde(default)]
    pub cpu_joules: Option<f64>,
    /// Number of times that the algorithm ran during the measurement.
    #[serde(default)]
    pub rounds: u64,
    /// Energy per run of the algorithm, in joules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules_per_round: Option<f64>,
    /// Millions of edges that the algorithm traversed per joule (MTEPS per watt).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mteps_per_watt: Option<f64>,
}

impl Energy {
    /// Sets the number of times that the algorithm ran (rounds), and computes the energy per round and per edge.
    /// `edges` is the number of edges that all rounds together traversed.
    pub fn per_round(self, rounds: u64, edges: u64) -> Energy {
        let joules = self.joules.filter(|&joules| joules > 0.0);
        let mteps_per_watt = joules.map(|joules| edges as f64 / 1e6 / joules);
        Energy { rounds, joules_per_round: joules.map(|joules| joules / rounds as f64), mteps_per_watt, ..self }
    }
}

/// Energy in joules that one rank measured, by kind of meter; `None` if the rank reads no meter of that kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Joules {
    gpu: Option<Result<f64, String>>,
    cpu: Option<Result<f64, String>>,
}

impl Meters {
    /// Opens the energy meters of the processors of every machine, and of every GPU that a rank uses. `device` is the
    /// GPU of this rank. Collective: all ranks must call it.
    pub fn open(device: Option<&Device>, comm: &Comm) -> Meters {
        let gpu = device.map(Device::gpu);
        let is_first = is_first_of(comm, gpu.map(|gpu| gpu.uuid.as_str()));
        let gpu = gpu.filter(|_| is_first).map(GpuMeter::open);
        Meters { gpu, cpu: is_first_of(comm, Some(&host::name())).then(CpuMeter::open) }
    }

    /// Begins an energy measurement with these meters.
    pub fn begin(&self) -> Measurement<'_> {
        let gpu = self.gpu.as_ref().map(|meter| meter.as_ref().map_err(String::clone)?.joules());
        let cpu = self.cpu.as_ref().map(|meter| meter.as_ref().map_err(String::clone)?.read());
        Measurement { meters: self, gpu, cpu, started: Instant::now() }
    }
}

impl Measurement<'_> {
    /// Returns the time since the energy measurement began, in seconds.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Ends the energy measurement. Returns its duration in seconds, and the joules that the meters of all ranks
    /// measured. Collective: all ranks must call it.
    pub fn end(self, comm: &Comm) -> Energy {
        let seconds = self.seconds();
        let meters = self.meters;
        let gpu = meters.gpu.as_ref().zip(self.gpu);
        let gpu = gpu.map(|(meter, before)| Ok(meter.as_ref().map_err(String::clone)?.joules()? - before?));
        let cpu = meters.cpu.as_ref().zip(self.cpu);
        let cpu = cpu.map(|(meter, before)| meter.as_ref().map_err(String::clone)?.joules_since(&before?));
        let mine = serde_json::to_vec(&Joules { gpu, cpu }).unwrap_or_default();
        let all = comm.all_gather(&mine);
        let all: Vec<Joules> = all.iter().filter_map(|rank| serde_json::from_slice(rank).ok()).collect();
        sum(seconds, &all)
    }
}

/// Adds up the energy that all ranks measured. The sum for the GPUs, or for the processors, is reported only if every
/// meter of that kind could be read.
fn sum(seconds: f64, ranks: &[Joules]) -> Energy {
    let of_kind = |of: fn(&Joules) -> &Option<Result<f64, String>>, none: &str| {
        let read: Vec<f64> = ranks.iter().filter_map(|rank| of(rank).clone()).collect::<Result<_, _>>()?;
        if read.is_empty() { Err(none.to_owned()) } else { Ok(read.iter().sum::<f64>()) }
    };
    let gpu: Result<f64, String> = of_kind(|rank| &rank.gpu, "no GPU is in use");
    let cpu = of_kind(|rank| &rank.cpu, "no processor has a meter");
    if let (Err(gpu), Err(cpu)) = (&gpu, &cpu) {
        let note = Some(format!("no energy could be read ({gpu}; {cpu})"));
        return Energy { seconds, note, ..Energy::default() };
    }
    let joules = Some(gpu.as_ref().unwrap_or(&0.0) + cpu.as_ref().unwrap_or(&0.0));
    Energy { seconds, joules, gpu_joules: gpu.ok(), cpu_joules: cpu.ok(), ..Energy::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joules_of_all_ranks_are_added_up() {
        let rank = |gpu: Option<f64>, cpu: Option<f64>| Joules { gpu: gpu.map(Ok), cpu: cpu.map(Ok) };
        let both = sum(3.0, &[rank(Some(10.0), Some(4.0)), rank(Some(20.0), None), Joules::default()]);
        assert_eq!((both.joules, both.gpu_joules, both.cpu_joules), (Some(34.0), Some(30.0), Some(4.0)));
        // Two rounds traverse 17 million edges.
        let both = both.per_round(2, 17_000_000);
        assert_eq!((both.joules_per_round, both.mteps_per_watt), (Some(17.0), Some(0.5)));
    }

    #[test]
    fn partial_joules_of_a_kind_are_not_reported() {
        let failed = || Some(Err("NVML: gone".to_owned()));
        let ranks = [Joules { gpu: Some(Ok(10.0)), cpu: Some(Ok(4.0)) }, Joules { gpu: failed(), cpu: None }];
        let cpu = sum(3.0, &ranks);
        assert_eq!((cpu.joules, cpu.gpu_joules, cpu.cpu_joules), (Some(4.0), None, Some(4.0)));
        let none = sum(3.0, &[Joules { gpu: failed(), cpu: Some(Err("no counters".into())) }]);
        assert_eq!(none.note.as_deref(), Some("no energy could be read (NVML: gone; no counters)"));
    }
}

//! Computes samples of this process's resource use from counters of the kernel and of energy meters.

use super::Sample;
use crate::process::energy::CpuMeter;
use crate::process::{gpu_use, traffic};
use crate::store::os;
use std::time::{Duration, Instant};

/// Duration of the initial phase of a run, in which a sample is taken at every tick of the progress thread. Many jobs
/// take no longer than that.
const FINE: Duration = Duration::from_secs(10);
/// Interval between samples of resource use after the initial phase of a run.
const COARSE: Duration = Duration::from_secs(1);
/// Time after the start of a run at which energy meters are opened. A shorter job should not wait for their library to
/// load.
const METERED: Duration = Duration::from_secs(2);

/// Energy and utilisation of a device since the previous reading of its meter.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// Energy in joules that the device used; 0 if it can't be read.
    pub joules: f64,
    /// GPU utilisation, the fraction of time that the GPU was busy, from 0 to 1; `None` if the device is not a GPU or
    /// does not report it.
    pub busy: Option<f64>,
}

/// Energy meter: a function that returns the measurement since its previous call.
pub type Meter = Box<dyn FnMut() -> Measured + Send>;
/// Function that opens the energy meter of a device. It returns `None` if the device has no meter.
pub type OpenMeter = Box<dyn FnOnce() -> Option<Meter> + Send>;

/// Computes samples. It stores the values of all counters at the end of the last sample.
pub(super) struct Sampler {
    began: Instant,
    last: Instant,
    memory: u64,
    cpu: Duration,
    disk: (u64, u64),
    sent: u64,
    meters: Option<Vec<Meter>>,
}

impl Sampler {
    /// Starts sampling the resource use of a run that began at the time `began`.
    pub fn new(began: Instant) -> Sampler {
        let (cpu, disk, sent) = (os::processor_time(), os::disk_bytes(), traffic::sent());
        Sampler { began, last: began, memory: 0, cpu, disk, sent, meters: None }
    }

    /// Records that `memory` bytes of host memory are in use now. A sample contains the maximum of the recorded
    /// values.
    pub fn note(&mut self, memory: u64) {
        self.memory = self.memory.max(memory);
    }

    /// Returns true if the next sample is due.
    pub fn is_due(&self) -> bool {
        self.began.elapsed() < FINE || self.last.elapsed() >= COARSE
    }

    /// Returns true if it is time to open the energy meters, and they are not open yet.
    pub fn wants_meters(&self) -> bool {
        self.meters.is_none() && self.began.elapsed() >= METERED
    }

    /// Returns true if at least one energy meter is open.
    pub fn has_meters(&self) -> bool {
        self.meters.as_ref().is_some_and(|meters| !meters.is_empty())
    }

    /// Opens the energy meter of the CPUs and, if given, the meter that `other` opens.
    pub fn open_meters(&mut self, other: Option<OpenMeter>) {
        let mut meters: Vec<Meter> = processors().into_iter().chain(other.and_then(|open| open())).collect();
        // Read each meter once, so that the first sample does not include earlier energy.
        for meter in &mut meters {
            meter();
        }
        self.meters = Some(meters);
    }

    /// Completes and returns the current sample, and begins the next one.
    pub fn sample(&mut self) -> Sample {
        let (now, cpu, disk) = (Instant::now(), os::processor_time(), os::disk_bytes());
        let sent = traffic::sent();
        let readings: Vec<Measured> = self.meters.iter_mut().flatten().map(|meter| meter()).collect();
        let joules: f64 = readings.iter().map(|reading| reading.joules).sum();
        let busy = readings.iter().filter_map(|reading| reading.busy).fold(0.0, f64::max);
        let kib = |after: u64, before: u64| after.saturating_sub(before) >> 10;
        // Compute lengths as differences of rounded end times, so that rounding loses no time between samples.
        let milliseconds = |then: Instant| (then - self.began).as_millis() as u64;
        let sample = Sample {
            run: 0,
            at: milliseconds(now),
            length: milliseconds(now) - milliseconds(self.last),
            host_memory: self.memory >> 10,
            gpu_memory: gpu_use::most_taken() >> 10,
            cpu: cpu.saturating_sub(self.cpu).as_millis() as u64,
            read: kib(disk.0, self.disk.0),
            written: kib(disk.1, self.disk.1),
            sent: kib(sent, self.sent),
            energy: (joules * 1e3) as u64,
            gpu: (now - self.last).mul_f64(busy).as_millis() as u64,
        };
        gpu_use::add_busy((now - self.last).mul_f64(busy));
        // Samples are in whole milliseconds and KiB. The remaining fractions are added to the next sample.
        self.cpu += Duration::from_millis(sample.cpu);
        self.disk = (self.disk.0 + (sample.read << 10), self.disk.1 + (sample.written << 10));
        self.sent += sample.sent << 10;
        (self.last, self.memory) = (now, 0);
        sample
    }
}

/// Returns the energy meter of the CPUs; `None` if their counters can't be read.
fn processors() -> Option<Meter> {
    let meter = CpuMeter::open().ok()?;
    let mut before = meter.read().ok()?;
    Some(Box::new(move || {
        let joules = meter.joules_since(&before).unwrap_or(0.0);
        if let Ok(now) = meter.read() {
            before = now;
        }
        Measured { joules, busy: None }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_what_was_used_since_the_one_before() {
        let mut sampler = Sampler::new(Instant::now());
        sampler.note(7 << 20);
        sampler.note(5 << 20);
        let busy = os::processor_time() + Duration::from_millis(30);
        let mut sum = 0_u64;
        while os::processor_time() < busy {
            sum = std::hint::black_box(sum + 1);
        }
        traffic::count(5 << 20);
        let meter = || Some(Box::new(|| Measured { joules: 1.5, busy: Some(0.5) }) as Meter);
        sampler.open_meters(Some(Box::new(meter)));
        let computed = gpu_use::busy();
        let first = sampler.sample();
        assert_eq!(first.host_memory, 7 << 10);
        // The GPU was busy for half of the time, in whole milliseconds.
        assert!(
            first.gpu.abs_diff(first.length / 2) <= 1 && gpu_use::busy() - computed >= Duration::from_millis(first.gpu)
        );
        assert!(first.length > 0 && first.at == first.length && first.energy >= 1500, "{first:?}");
        assert!(first.cpu >= 30 && first.sent >= 5 << 10, "{first:?}");
        let second = sampler.sample();
        assert_eq!(second.host_memory, 0);
        assert_eq!(second.at, first.at + second.length);
    }
}

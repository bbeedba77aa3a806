//! The section about the resources that a job used over time: memory, CPU, GPU, disk, messages and power.

use super::page::PageSection;
use super::time::Timeline;
use super::workdir_contents::WorkdirContents;
use crate::chart::{Axis, Figure, Line, Marks, Style, Unit};
use crate::process::metrics::{RunMetrics, Sample};

/// Minimum time in milliseconds over which the maximum transfer rate is measured. Shorter transfers measure caches
/// rather than a device.
const SPAN: u64 = 500;

/// Returns the section about the use of memory, CPU, GPU, disk, messages and power over time.
pub(super) fn section(seen: &WorkdirContents) -> PageSection {
    let mut section = PageSection::new("usage", "What it used over time");
    let clock = Timeline::of(&seen.metrics.runs);
    let samples: Vec<_> = seen.metrics.samples.iter().filter_map(|s| Some((clock.at(s)?, s))).collect();
    if let Some(last) = seen.metrics.runs.last().filter(|_| !samples.is_empty()) {
        section.figures = Usage { clock, samples, last }.figures();
    }
    section
}

/// The samples of a job, each with the time of its end on the common time axis.
struct Usage<'a> {
    clock: Timeline<'a>,
    samples: Vec<(f64, &'a Sample)>,
    last: &'a RunMetrics,
}

impl Usage<'_> {
    fn figures(&self) -> Vec<Figure> {
        let Sample { host_memory, gpu_memory, gpu, read, written, sent, energy, .. } =
            Sample::merge(self.samples.iter().map(|(_, sample)| *sample));
        let mut figures = vec![self.host_memory(host_memory << 10)];
        if gpu_memory > 0 {
            let caption =
                "The largest amount in use within each sample. The job reserves the whole limit once the GPU is open.";
            let used = self.line("GPU memory", |sample| (sample.gpu_memory << 10) as f64);
            let lines = vec![used, self.limit("limits.gpu_memory", self.last.gpu_memory as f64)];
            figures.push(self.figure("GPU memory", caption, Axis::linear("memory", Unit::Bytes), lines));
        }
        let threads = self.last.threads;
        let limit = (threads > 0).then(|| self.limit("threads", threads as f64));
        let busy = self.line("busy", |sample| rate(sample.cpu as f64 / 1e3, sample));
        let caption = "Processor time per second: 1 is one core that is always busy.";
        let lines = [busy].into_iter().chain(limit).collect();
        figures.push(self.figure("Processors", caption, Axis::linear("cores", Unit::Number), lines));
        if gpu > 0 {
            let caption =
                "The share of time in which a kernel of any process ran on it, as NVML reports; from two seconds on.";
            let busy = self.line("busy", |sample| rate(sample.gpu as f64 / 1e3, sample).min(1.0));
            figures.push(self.figure("GPU", caption, Axis::linear("busy", Unit::Share), vec![busy]));
        }
        if read | written > 0 {
            let caption = "Transfers of the disk itself; reads from the page cache are not counted.";
            let read = self.transfer("read from disk", "most read", &|sample| sample.read);
            let written = self.transfer("written to disk", "most written", &|sample| sample.written);
            figures.push(self.transfers("Disk", caption, [read, written].into()));
        }
        if sent > 0 {
            let caption = "Data sent to other ranks, as messages or in shared memory; small collective operations are not counted.";
            let sent = self.transfer("sent", "most sent", &|sample| sample.sent);
            figures.push(self.transfers("Sent", caption, vec![sent]));
        }
        if energy > 0 {
            let caption = "Power of the processors and the GPU in use, as far as their counters can be read; from two seconds on.";
            let power = self.line("power", |sample| rate(sample.energy as f64 / 1e3, sample));
            let figure = self.figure("", caption, Axis::linear("power", Unit::Watts), vec![power]);
            figures.push(Figure { title: "Power".into(), ..figure });
        }
        figures
    }

    fn figure(&self, of: &str, caption: impl Into<String>, y: Axis, lines: Vec<Line>) -> Figure {
        let of_rank = if self.last.ranks > 1 { " of rank 0" } else { "" };
        Figure::new(format!("{of}{of_rank}"), caption, [self.clock.axis(), y], Marks::Lines(lines))
    }

    fn line(&self, name: &str, value: impl Fn(&Sample) -> f64) -> Line {
        Line::new(name, Style::Area, self.samples.iter().map(|(at, sample)| (*at, value(sample))).collect())
    }

    fn limit(&self, name: &str, value: f64) -> Line {
        let end = self.samples.last().map_or(0.0, |(at, _)| *at);
        Line::new(name, Style::Limit, vec![(end, value)])
    }

    fn host_memory(&self, most_used: u64) -> Figure {
        let mut lines = vec![self.line("host memory", |sample| (sample.host_memory << 10) as f64)];
        let mut caption =
            "The largest memory of the process itself within each sample. Clean pages of mapped files are not counted."
                .to_owned();
        match self.last.host_memory {
            0 => {}
            most if most_used < most / 10 => {
                caption += &format!(" The limit is far above: {}.", Unit::Bytes.show(most as f64))
            }
            most => lines.push(self.limit("limits.host_memory", most as f64)),
        }
        self.figure("Host memory", caption, Axis::linear("memory", Unit::Bytes), lines)
    }

    /// Returns the chart line of a transfer rate, and a horizontal line at the maximum rate. The second is `None`
    /// unless the samples of a run cover at least [`SPAN`] milliseconds. `kib` returns the number of KiB that were
    /// transferred during a sample.
    fn transfer(&self, name: &str, most: &str, kib: &dyn Fn(&Sample) -> u64) -> (Line, Option<Line>) {
        let line = self.line(name, |sample| rate((kib(sample) << 10) as f64, sample));
        let highest = fastest(&self.samples, kib);
        (line, (highest > 0.0).then(|| self.limit(most, highest)))
    }

    /// Draws transfer rates, each with a horizontal line at its maximum. The maximum is the highest rate in this job,
    /// because the device's own maximum is not measured.
    fn transfers(&self, of: &str, caption: &str, rates: Vec<(Line, Option<Line>)>) -> Figure {
        let (mut lines, most): (Vec<Line>, Vec<Option<Line>>) = rates.into_iter().unzip();
        let mut caption = caption.to_owned();
        if most.iter().any(Option::is_some) {
            caption += " \"Most\" is the highest rate over half a second or longer in this job; the device itself is not measured.";
        }
        lines.extend(most.into_iter().flatten());
        self.figure(of, caption, Axis::linear("bytes per second", Unit::BytesPerSecond), lines)
    }
}

/// Divides an amount that was measured in a sample by the duration of the sample in seconds.
fn rate(amount: f64, sample: &Sample) -> f64 {
    if sample.length > 0 { 1e3 * amount / sample.length as f64 } else { 0.0 }
}

/// Returns the maximum rate, in bytes per second, over consecutive samples of one run that together cover at least
/// [`SPAN`] milliseconds; 0 if no run lasted that long.
fn fastest(samples: &[(f64, &Sample)], kib: &dyn Fn(&Sample) -> u64) -> f64 {
    let mut most = 0.0_f64;
    for first in 0..samples.len() {
        let (mut moved, mut length) = (0, 0);
        for (_, sample) in samples[first..].iter().take_while(|(_, sample)| sample.run == samples[first].1.run) {
            (moved, length) = (moved + kib(sample), length + sample.length);
            if length >= SPAN {
                most = most.max(1e3 * (moved << 10) as f64 / length as f64);
                break;
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_is_over_half_a_second_within_one_run() {
        let sample = |run: u64, length: u64, read: u64| Sample { run, length, read, ..Sample::default() };
        // The samples of this test: a burst of 50 ms, a second at 1 MiB/s, and a burst that ends in another run.
        let samples =
            [sample(1, 50, 1000), sample(1, 450, 0), sample(1, 1000, 1024), sample(1, 100, 9000), sample(2, 400, 9000)];
        let timed: Vec<(f64, &Sample)> = samples.iter().map(|sample| (0.0, sample)).collect();
        let kib = |samples: &[(f64, &Sample)]| fastest(samples, &|sample| sample.read) / 1024.0;
        assert_eq!((kib(&timed), kib(&timed[2..]), kib(&timed[3..])), (2000.0, 1024.0, 0.0));
    }
}

//! The log: lines on stderr as text or JSON, and every line in `run.log` of the workdir too, across resumes.
//!
//! Lines logged before the workdir is known are kept and written when it is. A log that can't be written never ends the
//! job: it is said once on stderr. The error that ends a run is logged as its last line; on stderr as text it is for people
//! and bare, so [`last`] leaves that to its caller.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer};

use super::bars;

/// `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// Lines for people: `2026-11-20T12:00:00Z  INFO message key=value`.
    #[default]
    Text,
    /// One JSON object a line, numbers plain and in base units.
    Json,
}

/// The target of the line that ends a run.
const LAST: &str = "gpugraph::last";

/// What stderr gets, for those who choose between bars and lines: bits of `JSON` and `BARS`.
static STYLE: AtomicU8 = AtomicU8::new(0);
const JSON: u8 = 1;
const BARS: u8 = 2;

/// Starts logging. `quiet` keeps stderr to warnings and errors; `run.log` gets every line even so. The environment
/// variable `GPUGRAPH_LOG` (as in `debug` or `gpugraph::prepare=trace`) sets what stderr gets instead. Calls after the
/// first do nothing. Of several ranks, those that don't lead tell warnings and errors alone.
pub fn init(format: Format, quiet: bool, leads: bool) {
    let of = |loud: bool| if loud { LevelFilter::INFO } else { LevelFilter::WARN };
    let level = of(leads && !quiet);
    let filter =
        EnvFilter::try_from_env("GPUGRAPH_LOG").unwrap_or_else(|_| EnvFilter::default().add_directive(level.into()));
    let is_last = |meta: &Metadata<'_>| meta.target() == LAST;
    let stderr = layer(format, stderr_writer);
    let stderr = match format {
        Format::Text => stderr.with_filter(filter.and(filter_fn(move |meta| !is_last(meta)))).boxed(),
        // Whatever is left out, not that.
        Format::Json => stderr.with_filter(filter.or(filter_fn(is_last))).boxed(),
    };
    let file = layer(format, run_log_writer).with_filter(of(leads));
    if tracing_subscriber::registry().with(stderr).with(file).try_init().is_ok() {
        let bars = format == Format::Text && !quiet && io::stderr().is_terminal();
        let style = if format == Format::Json { JSON } else { 0 } | if bars { BARS } else { 0 };
        STYLE.store(style, Relaxed);
    }
}

/// Logs the error that ends a run. Whether stderr has it by that: as JSON it does.
pub fn last(error: &str) -> bool {
    tracing::error!(target: LAST, "{error}");
    is_json()
}

fn layer<S, W>(format: Format, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_target(false).with_ansi(false).with_timer(Clock);
    let layer = layer.with_writer(writer);
    match format {
        Format::Text => layer.boxed(),
        Format::Json => layer.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
    }
}

/// Whether lines are JSON, whose readers want numbers rather than text such as `1.5 GiB`.
pub(super) fn is_json() -> bool {
    STYLE.load(Relaxed) & JSON != 0
}

/// Whether progress is shown by bars: on a terminal, as text, not quiet.
pub(super) fn has_bars() -> bool {
    STYLE.load(Relaxed) & BARS != 0
}

/// Where `run.log` is.
enum RunLog {
    /// The workdir is not known yet.
    Waiting(Vec<u8>),
    Open(File),
    /// There is none, or it failed.
    Off,
}

static RUN_LOG: Mutex<RunLog> = Mutex::new(RunLog::Waiting(Vec::new()));
/// Bytes kept at most for a workdir that is not known yet.
const WAITING: usize = 1 << 16;

/// Appends every line to `run.log` in this folder from now on, those logged before first. To be called by the holder of
/// the workdir's lock, so that a refused run does not write into another's log.
pub fn attach(workdir: &Path) {
    let path = workdir.join("run.log");
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    let mut log = RUN_LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let before = match &mut *log {
        RunLog::Waiting(lines) => std::mem::take(lines),
        _ => Vec::new(),
    };
    *log = match opened.and_then(|mut file| file.write_all(&before).map(|()| file)) {
        Ok(file) => RunLog::Open(file),
        Err(e) => {
            say(format_args!("gpugraph: {}: can't write the log: {e}; going on without", path.display()));
            RunLog::Off
        }
    };
}

/// A line on stderr outside the log. A closed stderr is no reason to stop.
fn say(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn stderr_writer() -> StderrWriter {
    StderrWriter
}

struct StderrWriter;

impl Write for StderrWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // Bars are taken away for the moment, or the line would end up in the middle of one.
        bars::suspended(|| {
            let _ = io::stderr().write_all(line);
        });
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn run_log_writer() -> RunLogWriter {
    RunLogWriter
}

struct RunLogWriter;

impl Write for RunLogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut log = RUN_LOG.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *log {
            RunLog::Waiting(lines) if lines.len() + line.len() <= WAITING => lines.extend_from_slice(line),
            RunLog::Waiting(_) | RunLog::Off => {}
            RunLog::Open(file) => {
                if let Err(e) = file.write_all(line) {
                    *log = RunLog::Off;
                    drop(log);
                    say(format_args!("gpugraph: run.log can't be written: {e}; going on without"));
                }
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, w: &mut Writer<'_>) -> std::fmt::Result {
        w.write_str(&timestamp(SystemTime::now()))
    }
}

/// A time as `2026-11-20T12:00:00Z`. Times before 1970 are given as 1970.
pub fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days, by eras of 400 years that begin on 1 March, so that the leap day is a year's last
    // (Howard Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_those_of_date() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_795_176_000, "2026-11-20T12:00:00Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}

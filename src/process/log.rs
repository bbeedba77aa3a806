//! The log: lines on stderr as text or JSON. Every line also goes to `run.log` in the workdir, which continues across
//! resumed runs.
//!
//! Lines that are logged before the workdir is known are buffered and written later. If the log can't be written, one
//! line on stderr reports it, and the job continues. The error that ends a run is logged as its last line. In text
//! format, the error is printed to stderr without the prefix of log lines, so the caller of [`last`] prints it.

use crate::error::{Error, Result};
use crate::store::regular;
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer};

use super::bars;

/// Format of log lines, set by `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// Text lines: `2026-11-20T12:00:00Z  INFO message key=value`.
    #[default]
    Text,
    /// One JSON object per line, with plain numbers in base units.
    Json,
}

/// Log target of the last line of a run, which reports the error that ended it.
const LAST: &str = "gpugraph::last";

/// Style of stderr: a combination of the bits `JSON` and `BARS`.
static STYLE: AtomicU8 = AtomicU8::new(0);
const JSON: u8 = 1;
const BARS: u8 = 2;
/// Log target of lines about short stages, which are written only to `run.log`, not to stderr.
pub(super) const SHORT_STAGES: &str = "gpugraph::short_stages";

/// Initialises logging. `quiet` restricts stderr to warnings and errors, but not `run.log`. The environment variable
/// `GPUGRAPH_LOG` (such as `debug` or `gpugraph::prepare=trace`) overrides the log level of stderr. `leads` is true
/// for rank 0; other ranks log only warnings and errors. Calls after the first do nothing.
pub fn init(format: Format, quiet: bool, leads: bool) {
    let of = |loud: bool| if loud { LevelFilter::INFO } else { LevelFilter::WARN };
    let level = of(leads && !quiet);
    let filter =
        EnvFilter::try_from_env("GPUGRAPH_LOG").unwrap_or_else(|_| EnvFilter::default().add_directive(level.into()));
    let is_last = |meta: &Metadata<'_>| meta.target() == LAST;
    let stderr = layer(format, to_stderr);
    let stderr = match format {
        Format::Text => stderr.with_filter(filter.and(filter_fn(move |meta| !is_last(meta)))).boxed(),
        // The last line is logged even if the filter excludes it.
        Format::Json => stderr.with_filter(filter.or(filter_fn(is_last))).boxed(),
    };
    let of_stages = move |meta: &Metadata<'_>| leads && meta.target() == SHORT_STAGES;
    let file = layer(format, to_run_log).with_filter(of(leads).or(filter_fn(of_stages)));
    if tracing_subscriber::registry().with(stderr).with(file).try_init().is_ok() {
        let bars = format == Format::Text && !quiet && io::stderr().is_terminal();
        let style = if format == Format::Json { JSON } else { 0 } | if bars { BARS } else { 0 };
        STYLE.store(style, Relaxed);
    }
}

/// Logs the error that ends a run as the text `what`. Returns true if the line was also written to stderr, which
/// happens only in JSON format.
pub fn last(error: &Error, what: &str) -> bool {
    match error {
        // A requested stop is not logged as an error, because the user has requested it and the next run continues.
        Error::Stopped(_) => tracing::info!(target: LAST, "{what}"),
        _ => tracing::error!(target: LAST, "{what}"),
    }
    is_json()
}

fn layer<S>(format: Format, write: fn(&[u8])) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let now: fn(&mut Writer<'_>) -> std::fmt::Result =
        |line| write!(line, "{}", humantime::format_rfc3339_millis(shown(SystemTime::now())));
    let layer = tracing_subscriber::fmt::layer().with_target(false).with_ansi(false).with_timer(now);
    let layer = layer.with_writer(move || LineWriter(write));
    match format {
        Format::Text => layer.boxed(),
        Format::Json => layer.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
    }
}

/// Returns true if log lines are JSON. They then contain plain numbers rather than text such as `1.5 GiB`.
pub(super) fn is_json() -> bool {
    STYLE.load(Relaxed) & JSON != 0
}

/// Returns true if progress is shown as bars: if stderr is a terminal, the format is text, and the run is not quiet.
pub(super) fn has_bars() -> bool {
    STYLE.load(Relaxed) & BARS != 0
}

enum RunLog {
    /// Lines that are written to `run.log` as soon as the workdir is known.
    Waiting(Vec<u8>),
    Open(File),
    /// `run.log` is not written, because it could not be opened or a write failed.
    Off,
}

static RUN_LOG: Mutex<RunLog> = Mutex::new(RunLog::Waiting(Vec::new()));
/// Maximum size in bytes of the lines that are buffered until the workdir is known.
const WAITING: usize = 1 << 16;

/// Opens `run.log` in `workdir` and appends all lines logged so far, and every later line. Only the holder of the
/// workdir's lock may call it, so that a run that fails to get the lock does not write to another run's log. If the
/// disk is full, the job continues without a log.
///
/// # Errors
/// [`Error::Io`] if `run.log` is not a regular file.
pub fn attach(workdir: &Path) -> Result<()> {
    let path = workdir.join("run.log");
    let opened = regular::open_to_write(OpenOptions::new().create(true).append(true), &path);
    let mut log = RUN_LOG.lock();
    let before = match &mut *log {
        RunLog::Waiting(lines) => std::mem::take(lines),
        _ => Vec::new(),
    };
    *log = match opened.and_then(|mut file| file.write_all(&before).map(|()| file)) {
        Ok(file) => RunLog::Open(file),
        Err(e) if regular::refuses(&e) => return Err(Error::io("open the log", &path, e)),
        Err(e) => {
            print_line(format_args!("gpugraph: {}: can't write the log: {e}; continuing without it", path.display()));
            RunLog::Off
        }
    };
    Ok(())
}

/// Prints a line to stderr without logging it. Errors, such as a closed stderr, are ignored.
fn print_line(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writer that passes each line to a function, which handles errors itself.
struct LineWriter(fn(&[u8]));

impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        (self.0)(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a log line to stderr.
fn to_stderr(line: &[u8]) {
    // Remove the bars from the terminal while printing; otherwise the line would be printed in the middle of a bar.
    let print = || drop(io::stderr().write_all(line));
    if has_bars() { bars::all().suspend(print) } else { print() }
}

/// Writes a line to `run.log`, or buffers it until the workdir is known.
fn to_run_log(line: &[u8]) {
    let mut log = RUN_LOG.lock();
    match &mut *log {
        RunLog::Waiting(lines) if lines.len() + line.len() <= WAITING => lines.extend_from_slice(line),
        RunLog::Waiting(_) | RunLog::Off => {}
        RunLog::Open(file) => {
            if let Err(e) = file.write_all(line) {
                *log = RunLog::Off;
                drop(log);
                print_line(format_args!("gpugraph: run.log can't be written: {e}; continuing without it"));
            }
        }
    }
}

/// Formats a time as `2026-11-20T12:00:00Z`. Times before 1970 are clamped to the first second of 1970, and times
/// after the year 9999, which file metadata may contain, to the last second of 9999.
pub fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(shown(time)).to_string()
}

/// Clamps a time to the range that can be formatted.
fn shown(time: SystemTime) -> SystemTime {
    time.clamp(UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(253_402_300_799))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(timestamp(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(1 << 40)), "9999-12-31T23:59:59Z");
    }
}

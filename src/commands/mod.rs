//! The commands of gpugraph. This module dispatches them, and implements `convert`, which works on files without a
//! job.
#![allow(unsafe_code)] // `run` sets the environment of MPI and CUDA before there are threads

pub mod cli;
pub mod devices;
pub mod generate;
pub mod graphalytics;
pub mod help;
pub mod inspect;
mod lists;
pub mod report;
mod run;
mod strings;
pub mod submit;

use self::cli::{Cli, Command, ConvertArgs};
use self::strings::Numbered;
use crate::comm;
use crate::convert::{self, Converted, StreamCopy, Target};
use crate::error::{Error, Result};
use crate::formats::input::stream::Stream;
use crate::formats::weights::UnreadColumns;
use crate::formats::{Format, Input, TextOptions, Watch, WeightsOption};
use crate::job::plan::resources;
use crate::process::progress::{Progress, Unit};
use crate::process::{signals, threads::check_addresses};
use crate::{job, memory, stdout};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

/// Entry point of the program `gpugraph`: parses the command line, runs the command, and prints the error if it fails.
/// It must be called before the process starts a thread.
#[doc(hidden)]
pub fn main() -> ExitCode {
    main_of(std::env::args_os())
}

/// Runs the command line `words`, like [`main`]. The first word is the name of the program. The Python package calls
/// this function.
#[doc(hidden)]
pub fn main_of(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    comm::report_panics();
    memory::set_allocator();
    // Raise the soft limit on file descriptors, because files, ranks and GPUs need many. Raise it at most to Linux's
    // default maximum, because child processes, for example of MPI, may close every descriptor below the limit.
    let _ = rlimit::increase_nofile_limit(1 << 20);
    let cli = Cli::parse_from(words);
    match signals::install().and_then(|()| dispatch(cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => comm::end_with(&e),
    }
}

fn dispatch(command: Command) -> Result<()> {
    match command {
        // SAFETY: no thread was started before this.
        Command::Run(args) => unsafe { run::run(&args) },
        // SAFETY: as above.
        Command::Graphalytics(args) => unsafe { graphalytics::graphalytics(&args) },
        Command::Completions { shell } => {
            // The script is written to memory first, because clap panics on a closed pipe.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "gpugraph", &mut script);
            stdout::print(script)
        }
        Command::Generate(args) => generate::generate(&args),
        Command::Convert(args) => convert(&args),
        Command::Plan(args) => inspect::plan(&args),
        Command::Submit(args) => submit::submit(&args),
        Command::Status(args) => inspect::status(&args),
        Command::Verify(args) => inspect::verify(&args),
        Command::Report(args) => report::report(&args),
        Command::Clean(args) => inspect::clean(&args),
        Command::Devices(args) => inspect::devices(&args),
        Command::Man => inspect::man(),
        Command::Help(args) => help::help(&args),
    }
}

/// `gpugraph convert`: converts between edge formats, or between list formats.
///
/// # Errors
/// [`Error::Usage`] for an unknown file name extension, [`Error::Input`] for bad input, and errors of the disk.
pub fn convert(args: &ConvertArgs) -> Result<()> {
    convert::writable(&args.output)?;
    let threads = threads(args.threads)?;
    if let Some((from, to)) = lists::formats(args)? {
        return lists::convert(args, from, to);
    }
    let from = format_named(args.from.as_deref(), "--from")?;
    let format = output_format(&args.output, args.to.as_deref(), "--to")?;
    let (columns, ids) = (args.columns.clone().unwrap_or_default(), args.ids);
    let text = TextOptions { columns, skip_lines: args.skip_lines, ids };
    let copy = Stream::of(&args.input).map(|stream| copied(&stream, from, &args.output)).transpose()?;
    let input = match &copy {
        Some(copy) => copy.input()?,
        None => job::input::find(std::slice::from_ref(&args.input), from, args.recursive)?,
    };
    let input = input.with_text(text)?;
    convert::refuse_overlap(&input, &args.output)?;
    let numbered = if input.has_names() { Some(Numbered::new(&input, &args.output, threads)?) } else { None };
    let input = numbered.iter().fold(input, |input, numbered| numbered.input(input));
    let done = shown("convert", input.bytes(), |watch| {
        let target = Target { format, weights: args.weights, memory: convert::MEMORY };
        warn_of_weights(&input, target, args.columns.is_none());
        convert::convert_as(&input, &args.output, target, threads, watch)
    });
    let done = done.map_err(|e| match &copy {
        Some(copy) => copy.name_stream(e),
        None => e,
    })?;
    numbered.iter().try_for_each(|numbered| numbered.write_list(&args.output))?;
    print_summary(&args.output, done);
    Ok(())
}

/// Returns the number of threads of a command that runs no job; `configured` is 0 for all cores.
///
/// # Errors
/// [`Error::Addresses`] if `ulimit -v` leaves too little address space for them.
fn threads(configured: usize) -> Result<usize> {
    let threads = resources::threads(configured);
    check_addresses(threads).map(|()| threads)
}

/// Copies the input of a conversion from a pipe to a file next to the output.
fn copied(stream: &Stream, from: Option<Format>, output: &Path) -> Result<StreamCopy> {
    let format = from.or_else(|| Format::by_ending(stream.path())).ok_or_else(|| {
        let name = stream.name();
        Error::Usage(format!(
            "{name}: its format is unknown, as its name has no ending; name it with --from, such as --from text"
        ))
    })?;
    shown("reading", 0, |watch| StreamCopy::of(stream, format, output, watch))
}

/// Logs a warning if the output format can't store the weights of the input, or if the input has columns that may be
/// weights but are not read.
fn warn_of_weights(input: &Input, target: Target, by_default: bool) {
    let Target { format, weights, .. } = target;
    if weights != WeightsOption::Auto {
        return;
    }
    // Errors are ignored here, because reading the file reports them later.
    match input.may_have_weights() {
        Ok(true) if !format.writes_weights() => {
            tracing::warn!("{}: has weights, which {format} does not hold; they are left out", input.name());
        }
        Ok(false) if by_default && let Some(UnreadColumns { found, remedy }) = input.unread() => {
            tracing::warn!("{}: {found} are left out; {remedy}", input.name());
        }
        _ => {}
    }
}

fn print_summary(path: &Path, done: Converted) {
    let Converted { read, written, bytes } = done;
    // The file is complete, so a closed stdout is no reason to fail.
    let _ = stdout::show(&format!("{}: {written} edges of {read} in {bytes} bytes", path.display()));
}

/// Returns the edge format whose name is `named`. If `named` is `None` or `auto`, returns the format that the
/// extension of `path` selects. `option` is the command-line option that names a format, for error messages.
fn output_format(path: &Path, named: Option<&str>, option: &str) -> Result<Format> {
    format_named(named, option)?
        .or_else(|| Format::by_ending(path))
        .ok_or_else(|| Error::Usage(format!("{}: no format has this ending; name one with {option}", path.display())))
}

/// Parses the name of an edge or list format. Returns `None` if `name` is `None` or `auto`. `option` is the
/// command-line option that set `name`, for error messages.
fn format_named<F: FromStr<Err: Display>>(name: Option<&str>, option: &str) -> Result<Option<F>> {
    let parse = |name: &str| name.parse().map_err(|e| Error::Usage(format!("{option} {name}: {e}")));
    name.filter(|&name| name != "auto").map(parse).transpose()
}

/// Runs `work` with a progress bar for the stage `name`, which processes `total` bytes. If a signal stops `work`, the
/// error is [`Error::Abandoned`], because nothing of the work is kept.
fn shown<T>(name: &str, total: u64, work: impl FnOnce(&dyn Watch) -> Result<T>) -> Result<T> {
    crate::process::log::init(crate::process::log::Format::Text, false, true);
    let progress = Progress::new(Duration::from_secs(30));
    let stage = progress.stage(name, total, Unit::Bytes);
    let value = work(&stage).map_err(|e| match e {
        Error::Stopped(why) => Error::Abandoned(why),
        e => e,
    })?;
    stage.finish();
    Ok(value)
}

//! Commands that inspect jobs and machines without running a job (`plan`, `status`, `verify`, `devices`), and the
//! commands `clean` and `man`.

use super::cli::{CleanArgs, Cli, DevicesArgs, InspectArgs, PlanArgs};
use crate::algo::Verdict;
use crate::error::{Error, Result};
use crate::job::plan::resources::Resources;
use crate::job::plan::{Plan, limits};
use crate::job::state::clean;
use crate::job::status::{self, JobPlace};
use crate::job::verify;
use crate::stdout;
use clap::CommandFactory;
use serde::Serialize;
use std::fmt::Display;

/// `gpugraph plan`: prints the plan of a job, even if the job does not fit its limits.
///
/// # Errors
/// [`Error::Limit`] or [`Error::DiskFull`] if the job does not fit; mistakes in the job file or the input.
pub fn plan(args: &PlanArgs) -> Result<()> {
    let job = crate::config::load(&args.job, &args.set)?;
    let plan = Plan::of(&job, &Resources::here(&job, args.ranks as usize, args.nodes as usize)?)?;
    print(&plan, args.json)?;
    limits::refuse(&plan)?;
    // A job of several ranks is usually planned on another machine than the one that runs it, so its address space is
    // not checked.
    if args.ranks == 1 { limits::refuse_addresses(&plan) } else { Ok(()) }
}

/// `gpugraph status`: prints the progress of a job.
///
/// # Errors
/// [`Error::Usage`] for a mistake in the arguments, or if no job has run in the workdir; [`Error::Corrupt`] for a
/// damaged manifest.
pub fn status(args: &InspectArgs) -> Result<()> {
    print(&status::read_status(&JobPlace::of(&args.place, &args.set)?)?, args.json)
}

/// `gpugraph verify`: runs all checks and prints a line for each. A failed check does not stop the others.
///
/// # Errors
/// The error of the first failed check: [`Error::Corrupt`] or [`Error::Validation`].
pub fn verify(args: &InspectArgs) -> Result<()> {
    let place = JobPlace::of(&args.place, &args.set)?;
    let mut verdict = Verdict::new(|check| if args.json { Ok(()) } else { print(check, false) });
    verify::verify(&place, &mut verdict)?;
    let printed = if args.json { print_json(&verdict.checks) } else { Ok(()) };
    verdict.result().and(printed)
}

/// `gpugraph devices`: prints the devices of this machine.
///
/// # Errors
/// [`Error::Io`] if stdout can't be written.
pub fn devices(args: &DevicesArgs) -> Result<()> {
    print(&crate::commands::devices::detect(), args.json)
}

/// `gpugraph clean`: removes the files of a workdir that can be rebuilt, and lists them on stdout.
///
/// # Errors
/// [`Error::Busy`] while a job runs there, [`Error::Usage`] for a folder that is not a workdir, [`Error::Io`].
pub fn clean(args: &CleanArgs) -> Result<()> {
    let removed = clean::command(&args.workdir, args.all)?;
    stdout::print(removed)
}

/// `gpugraph man`: prints the man pages of gpugraph and of its subcommands, parents first.
///
/// # Errors
/// [`Error::Io`] if stdout can't be written.
pub fn man() -> Result<()> {
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    render(&command, &mut pages).map_err(|e| Error::internal("write the man page", e))?;
    stdout::print(pages)
}

fn render(command: &clap::Command, pages: &mut Vec<u8>) -> std::io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(pages)?;
    command.get_subcommands().try_for_each(|subcommand| render(subcommand, pages))
}

fn print<T: Serialize + Display>(value: &T, json: bool) -> Result<()> {
    if json { print_json(value) } else { stdout::show(&value.to_string()) }
}

fn print_json<T: Serialize + ?Sized>(value: &T) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::internal("write JSON", e))?;
    stdout::print(text)
}

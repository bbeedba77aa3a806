//! The command: parses, dispatches, prints the error.
#![allow(unsafe_code)] // the environment of MPI and CUDA is set before there are threads

use clap::{CommandFactory, Parser};
use gpugraph::comm::{self, Comm};
use gpugraph::commands::cli::{Cli, Command};
use gpugraph::error::Result;
use gpugraph::process::signals;
use gpugraph::{job, stdout};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    comm::report_panics();
    // Up to what the system allows: part files, blocks, ranks and GPUs take descriptors. No more than Linux itself gives unless told:
    // what is started from here, as by MPI, may close every one below the limit.
    let _ = rlimit::increase_nofile_limit(1 << 20);
    let cli = Cli::parse();
    match signals::install().and_then(|()| dispatch(cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => comm::end_with(&e),
    }
}

fn dispatch(command: Command) -> Result<()> {
    match command {
        Command::Run(args) => {
            // SAFETY: nothing was started before this.
            let several = unsafe { comm::shorten_start() };
            // What is wrong with it is said by one rank, once they have met.
            let job = gpugraph::config::load(&args.job, &args.set);
            if let (Ok(job), Some(local_rank)) = (&job, comm::told_local_rank())
                && job.run.device != gpugraph::config::Device::Cpu
            {
                // SAFETY: as above: what was read is a file.
                unsafe {
                    gpugraph::gpu::see_one(job.run.gpu, local_rank);
                    gpugraph::gpu::shorten_start(comm::told_local_ranks().unwrap_or(1));
                }
            }
            // CUDA starts while MPI does, unless it is the turn of others.
            job.iter().filter(|_| several).for_each(|job| job::device::wake(job, !comm::told_to_wait()));
            let started = Instant::now();
            let comm = Comm::open()?;
            gpugraph::process::log::init(args.log_format, args.quiet, comm.leads());
            tracing::debug!(ranks = comm.ranks(), seconds = started.elapsed().as_secs_f64(), "ranks have met");
            let job = job?;
            let workdir = job.workdir.clone();
            let report = job::run::run(job, args.fresh, &comm)?;
            if comm.leads() {
                // The answer stands in report.json: that nobody takes it here is no reason to fail.
                let _ = stdout::print(report.answer(&workdir));
            }
            comm.close();
            Ok(())
        }
        Command::Completions { shell } => {
            // By way of memory: writing to a reader that went away, clap panics.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "gpugraph", &mut script);
            stdout::print(script)
        }
        Command::Generate(args) => gpugraph::commands::generate(&args),
        Command::Convert(args) => gpugraph::commands::convert(&args),
        Command::Plan(args) => gpugraph::commands::inspect::plan(&args),
        Command::Submit(args) => gpugraph::commands::submit::submit(&args),
        Command::Status(args) => gpugraph::commands::inspect::status(&args),
        Command::Verify(args) => gpugraph::commands::inspect::verify(&args),
        Command::Clean(args) => gpugraph::commands::inspect::clean(&args),
        Command::Devices(args) => gpugraph::commands::inspect::devices(&args),
        Command::Man => gpugraph::commands::inspect::man(),
    }
}

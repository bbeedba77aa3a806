//! The command `gpugraph`: parses the command line, runs the command, and prints the error if it fails.
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
    gpugraph::memory::set_allocator();
    // Files of edges, blocks, ranks and GPUs need descriptors, so the soft limit is raised, but at most to Linux's
    // default maximum, because programs started from here, for example by MPI, may close every descriptor below the
    // limit.
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
            // SAFETY: no thread was started before this.
            let several = unsafe { comm::shorten_start() };
            // One rank reports mistakes in the job file, once all ranks are connected.
            let job = gpugraph::config::load(&args.job, &args.set);
            if let (Ok(job), Some(local_rank)) = (&job, comm::launched_local_rank())
                && job.run.device != gpugraph::config::Device::Cpu
            {
                // SAFETY: as above; since then only a file was read.
                unsafe {
                    gpugraph::gpu::see_one(job.run.gpu, local_rank);
                    gpugraph::gpu::shorten_start(comm::launched_local_ranks().unwrap_or(1));
                }
            }
            // CUDA starts in parallel with MPI, unless other ranks must start it first.
            job.iter().filter(|_| several).for_each(|job| job::device::wake(job, !comm::launched_later()));
            let started = Instant::now();
            let comm = Comm::open()?;
            gpugraph::process::log::init(args.log_format, args.quiet, comm.leads());
            tracing::debug!(ranks = comm.ranks(), seconds = started.elapsed().as_secs_f64(), "ranks have met");
            let job = job?;
            let workdir = job.workdir.clone();
            let report = job::run::run(job, job::run::StartOptions { fresh: args.fresh, wait: args.wait }, &comm)?;
            if comm.leads() {
                // The answer is in report.json already, so a closed stdout is no reason to fail.
                let _ = stdout::print(report.answer(&workdir));
            }
            comm.close();
            Ok(())
        }
        Command::Completions { shell } => {
            // The script is written to memory first, because clap panics on a closed pipe.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "gpugraph", &mut script);
            stdout::print(script)
        }
        Command::Generate(args) => gpugraph::commands::generate::generate(&args),
        Command::Convert(args) => gpugraph::commands::convert(&args),
        Command::Plan(args) => gpugraph::commands::inspect::plan(&args),
        Command::Submit(args) => gpugraph::commands::submit::submit(&args),
        Command::Status(args) => gpugraph::commands::inspect::status(&args),
        Command::Verify(args) => gpugraph::commands::inspect::verify(&args),
        Command::Report(args) => gpugraph::commands::report::report(&args),
        Command::Clean(args) => gpugraph::commands::inspect::clean(&args),
        Command::Devices(args) => gpugraph::commands::inspect::devices(&args),
        Command::Man => gpugraph::commands::inspect::man(),
    }
}

//! `gpugraph devices`: cores, memory, GPUs and MPI of this machine, and how to install what is missing.

use crate::comm::mpi;
use crate::gpu::{Cuda, probe_memory};
use crate::process::host;
use crate::size;
use serde::Serialize;
use std::fmt;

/// Cores, memory, GPUs and MPI of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineDevices {
    /// Host name.
    pub host: String,
    /// Number of cores that this process may use.
    pub cores: usize,
    /// Host memory in bytes.
    pub memory: u64,
    /// Host memory that this process can still allocate, in bytes.
    pub memory_free: u64,
    /// Vector instruction set that the triangle counter uses on this CPU.
    pub instructions: String,
    /// The CUDA installation and its GPUs.
    pub cuda: Cuda,
    /// The MPI library and its launchers.
    pub mpi: Mpi,
}

/// MPI support on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mpi {
    /// True if this gpugraph was built with MPI.
    pub built_in: bool,
    /// Version of the MPI library; `None` if gpugraph was built without MPI.
    pub version: Option<String>,
    /// MPI launchers found in `PATH`.
    pub launchers: Vec<String>,
    /// Missing parts of MPI, each with the steps to install it.
    pub missing: Vec<String>,
}

/// Detects the devices of this machine. It never fails: missing parts are described in the result.
pub fn detect() -> MachineDevices {
    let memory = host::memory();
    MachineDevices {
        host: host::name(),
        cores: host::cores(),
        memory: memory.total,
        memory_free: memory.free,
        instructions: format!("{:?}", crate::algo::triangle::Isa::detect()).to_lowercase(),
        cuda: probe_memory(),
        mpi: mpi(),
    }
}

fn mpi() -> Mpi {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let launchers = ["mpirun", "mpiexec", "srun"].into_iter().filter(|name| on_path(name));
    let launchers: Vec<String> = launchers.map(str::to_owned).collect();
    let version = mpi::version();
    let mut missing = Vec::new();
    if version.is_none() {
        let remedy = "build it with `cargo build --release --features mpi`";
        missing.push(format!("ranks: this gpugraph was built without MPI and runs as one process: {remedy}"));
    }
    if launchers.is_empty() {
        missing.push(
            "a launcher (mpirun, mpiexec or srun): load the site's MPI module, or install openmpi-bin".to_owned(),
        );
    }
    Mpi { built_in: version.is_some(), version, launchers, missing }
}

impl fmt::Display for MachineDevices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = match (self.memory, self.memory_free) {
            (0, 0) => "unknown memory (/proc/meminfo can't be read)".into(),
            (total, free) => format!("{} of memory, {} free", size::show(total), size::show(free)),
        };
        writeln!(f, "host    {}: {} cores ({}), {memory}", self.host, self.cores, self.instructions)?;
        let driver = self.cuda.driver.as_ref().map_or_else(|| "none".into(), |v| format!("CUDA {v}"));
        writeln!(f, "driver  {driver}")?;
        let there = if self.cuda.nvrtc { "there" } else { "none" };
        writeln!(f, "nvrtc   {}", self.cuda.nvrtc_version.as_deref().unwrap_or(there))?;
        for gpu in &self.cuda.gpus {
            let (name, capability, memory) = (&gpu.name, &gpu.capability, size::show(gpu.memory));
            let free = gpu.memory_free.map_or_else(String::new, |free| format!(", {} free", size::show(free)));
            writeln!(f, "gpu {}   {name}, compute capability {capability}, {memory} of memory{free}", gpu.index)?;
        }
        if self.cuda.gpus.is_empty() {
            writeln!(f, "gpu     none; jobs compute on the CPU")?;
        } else if let Some(kernels) = &self.cuda.kernels {
            writeln!(f, "kernels cached in {}", kernels.display())?;
        }
        let launchers = self.mpi.launchers.join(", ");
        let version = self.mpi.version.as_deref().unwrap_or("not built in");
        writeln!(f, "mpi     {version}; launchers: {}", if launchers.is_empty() { "none" } else { &launchers })?;
        self.cuda.missing.iter().chain(&self.mpi.missing).try_for_each(|what| writeln!(f, "missing {what}"))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_part_is_reported_on_any_machine() {
        let devices = super::detect();
        assert!(devices.cores > 0 && devices.memory > 0);
        assert!(!devices.cuda.gpus.is_empty() || !devices.cuda.missing.is_empty());
        let text = devices.to_string();
        assert!(text.contains("mpi") && text.contains("driver"), "{text}");
    }
}

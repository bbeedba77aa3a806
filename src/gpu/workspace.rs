//! What a job holds of a GPU from its start to its end: the arena, pinned memory, compiled kernels.

use super::arena::Arena;
use super::device::Device;
use super::program::{Kernel, Program};
use super::queue::Queue;
use super::sources;
use super::staging::{StopFlag, Uploader};
use crate::error::{Error, Result};
use crate::memory::Budget;

/// A GPU made ready. Whoever computes borrows all of it: one thing at a time has the memory.
#[derive(Debug)]
pub struct Workspace {
    /// The GPU.
    pub device: Device,
    // Fields are dropped in this order: nothing is queued any more when the memory goes.
    /// For work and small copies.
    pub queue: Queue,
    /// For large copies.
    pub uploader: Uploader,
    /// What running kernels look at.
    pub stop_flag: StopFlag,
    /// All of the memory.
    pub arena: Arena,
    programs: Vec<(&'static str, Program)>,
}

/// Fewest bytes of GPU memory that a job can do anything with.
const LEAST: u64 = 1 << 20;

impl Workspace {
    /// Opens GPU `index` (or the first) and takes `limit` bytes of its memory, or 90 % of what is free. Less will do
    /// where another process has some of it.
    ///
    /// # Errors
    /// [`Error::Usage`] where CUDA, the GPU or NVRTC is missing, saying how to get it; [`Error::Limit`], [`Error::Lost`].
    pub fn open(index: Option<u32>, limit: Option<u64>, threads: usize, budget: &Budget) -> Result<Workspace> {
        let device = Device::open(index, limit)?;
        let programs = sources::ALL.iter().map(|source| Ok((source.name, Program::load(&device, source)?)));
        Ok(Workspace {
            programs: programs.collect::<Result<_>>()?,
            queue: device.queue()?,
            uploader: Uploader::new(&device, threads, budget)?,
            stop_flag: StopFlag::new(&device, budget)?,
            arena: device.arena(LEAST)?,
            device,
        })
    }

    /// A kernel of a program.
    ///
    /// # Errors
    /// [`Error::Lost`] if there is none of that name.
    pub fn kernel(&self, source: &sources::Source, name: &'static str) -> Result<Kernel> {
        let program = self.programs.iter().find(|(program, _)| *program == source.name);
        let (_, program) = program.ok_or_else(|| Error::Lost(format!("{} was not compiled", source.name)))?;
        program.kernel(name, 0)
    }
}

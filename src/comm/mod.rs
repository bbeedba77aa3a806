//! The ranks of a job. One process alone is the case of one rank, so nothing is written twice.

/// How this process reaches the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comm {
    /// A process by itself.
    Solo,
}

impl Comm {
    /// Opens what the process was started with.
    pub fn open() -> Self {
        Comm::Solo
    }

    /// This process, from 0.
    pub fn rank(&self) -> usize {
        match self {
            Comm::Solo => 0,
        }
    }

    /// Number of processes.
    pub fn ranks(&self) -> usize {
        match self {
            Comm::Solo => 1,
        }
    }
}

//! GPUs: kernels, the stand-in for CUDA, and jobs on a GPU (the machine's, or the stand-in for one).

#[path = "../support/on_cpu.rs"]
mod on_cpu;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/workspace.rs"]
mod workspace;

mod answers;
mod betweenness;
mod bfs;
mod bfs_cases;
mod cdlp;
mod components;
mod cores;
mod distances;
mod faults;
mod kernels;
mod listrank;
mod memory;
mod packed;
mod pagerank;
mod prepare;
mod python;
mod resident;
mod resume;
mod rows;
mod sssp;
mod stand_in;
mod stand_in_driver;
mod strong;
mod transpose;
mod traverse;
mod weights;

//! The public library against plain computation, and parts of it against what is known of them: job files, stored
//! files, stages, locks and signals.

#[path = "../support/mod.rs"]
mod support;

mod bfs_results;
mod config;
mod graphs;
mod large_numbers;
mod memory_weights;
mod process;
mod stages;
mod store;
mod transpose;
mod weight_list;

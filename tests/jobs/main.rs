//! Whole jobs and commands, by the real binary.

#[path = "../support/mod.rs"]
mod support;

mod benches;
mod bitflips;
mod cold;
mod commands;
mod declared;
mod failpoints;
mod identity;
mod ids;
mod inputs;
mod leftovers;
mod limits;
mod packaging;
mod pipeline;
mod plan;
mod printing;
mod readme;
mod resume;
mod streams;
mod strings;
mod submit;
mod whole_rows;
mod workdir;

//! `report.html` in a real browser, and `gpugraph report`.

#[path = "../support/mod.rs"]
mod support;

#[path = "../../examples/performance.rs"]
mod performance;

mod browser;
mod command;
mod documented;
mod eyes;
mod hostile;
mod valid;

//! Bars on a terminal, for those who look on.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::sync::OnceLock;

use super::log;

/// All bars of the process.
pub(super) fn all() -> &'static MultiProgress {
    static BARS: OnceLock<MultiProgress> = OnceLock::new();
    BARS.get_or_init(MultiProgress::new)
}

/// Runs `f` with the bars taken off the terminal, so that it can write lines there.
pub(super) fn suspended(f: impl FnOnce()) {
    if log::has_bars() { all().suspend(f) } else { f() }
}

/// A bar for a stage of this much work.
pub(super) fn add(name: &str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:12} {wide_bar} {percent:>3} %  {msg}");
    let bar = all().add(ProgressBar::new(total.max(1)));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(name.to_owned());
    bar
}

//! Progress bars on a terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::sync::OnceLock;

/// Returns the set of all progress bars of the process.
pub(super) fn all() -> &'static MultiProgress {
    static BARS: OnceLock<MultiProgress> = OnceLock::new();
    BARS.get_or_init(MultiProgress::new)
}

/// Adds a progress bar for the stage `name` with a total of `total` units of work.
pub(super) fn add(name: &str, total: u64) -> ProgressBar {
    styled(all().add(ProgressBar::new(total.max(1))), name)
}

/// Sets the style of a progress bar. The message is truncated to the remaining width of the terminal, so that no line
/// wraps.
fn styled(bar: ProgressBar, name: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:10} {bar:12} {percent:>3} % {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(name.to_owned());
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{ProgressDrawTarget, TermLike};
    use parking_lot::Mutex;
    use std::io::Result;
    use std::sync::Arc;

    /// Terminal for tests: its number of columns, and the text written to it.
    #[derive(Debug, Clone)]
    struct Terminal(u16, Arc<Mutex<String>>);

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            self.0
        }
        fn move_cursor_up(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> Result<()> {
            self.write_str(&format!("{text}\n"))
        }
        fn write_str(&self, text: &str) -> Result<()> {
            self.1.lock().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> Result<()> {
            self.write_str("\n")
        }
        fn flush(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn progress_fits_a_narrow_terminal() {
        for columns in [40, 80, 132] {
            let written = Arc::new(Mutex::new(String::new()));
            let terminal = Terminal(columns, written.clone());
            let bar = ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::term_like(Box::new(terminal)));
            let bar = styled(bar, "partition");
            bar.set_position(42);
            bar.set_message("1016.25 MB/s, 12m03s left, 1023.75 MiB");
            bar.tick();
            let text = written.lock().clone();
            assert!(text.contains("partition") && text.contains("42 %"), "{text:?}");
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(columns)), "{columns}: {text:?}");
            assert_eq!(text.contains("1023.75 MiB"), columns >= 80, "{text:?}");
        }
    }
}

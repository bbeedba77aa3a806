//! Text of users as messages quote it.

/// Returns the text on one line, and not longer than it helps.
pub fn clip(text: &str) -> String {
    let mut out: String = text.chars().take(60).map(printable).collect();
    if text.chars().nth(60).is_some() {
        out.push('…');
    }
    out
}

/// Returns what stands for a character: tabs and control characters would move the caret, or the reader's terminal.
pub fn printable(c: char) -> char {
    if c == '\t' {
        ' '
    } else if c.is_control() {
        '\u{fffd}'
    } else {
        c
    }
}

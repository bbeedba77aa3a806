//! Prepares text of users to be quoted in messages.

/// Returns the first 60 characters of the text, on one line.
pub fn clip(text: &str) -> String {
    let mut out: String = text.chars().take(60).map(printable).collect();
    if text.chars().nth(60).is_some() {
        out.push('…');
    }
    out
}

/// Returns the character to print for `c`: tabs and control characters would move the caret, or act on the terminal.
pub fn printable(c: char) -> char {
    if c == '\t' {
        ' '
    } else if c.is_control() {
        '\u{fffd}'
    } else {
        c
    }
}

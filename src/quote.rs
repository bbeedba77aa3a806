//! Prepares user-supplied text for messages.

/// Returns the first 60 characters of `text` on one line, with `…` if there are more.
pub fn clip(text: &str) -> String {
    clip_to(text, 60)
}

/// Returns the first `characters` characters of `text` on one line, with `…` if there are more.
pub fn clip_to(text: &str, characters: usize) -> String {
    let mut out: String = text.chars().take(characters).map(printable).collect();
    if text.chars().nth(characters).is_some() {
        out.push('…');
    }
    out
}

/// Replaces the characters of `text` that would affect the terminal or page on which it is shown: control characters,
/// and characters that reverse the direction of text. Line breaks stay.
pub fn printable_lines(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => c,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        _ => printable(c),
    };
    text.chars().map(shown).collect()
}

/// Returns the character to print for `c`: a blank for a tab, and `U+FFFD` for a control character, which would affect
/// the terminal.
pub fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        _ if c.is_control() => '\u{fffd}',
        _ => c,
    }
}

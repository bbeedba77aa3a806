//! Suggestions for misspelt keys and values.

/// Returns true if a character is allowed in a bare key, which is a TOML key without quotes.
pub fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Returns advice about an unknown word: "did you mean …?", or a list of the known words.
pub fn advice(word: &str, known: &[&str], quote: impl Fn(&str) -> String) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean {}?", quote(near)),
        None => format!("there are {}", known.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ")),
    }
}

/// Returns the known word that `word` probably misspells; `None` if no known word is similar.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let word = word.to_lowercase().replace('-', "_");
    // The distance takes time proportional to the product of both lengths, and no misspelt word is that long.
    let length = word.chars().count();
    if length > 40 {
        return None;
    }
    let (distance, near) = known.iter().map(|near| (strsim::damerau_levenshtein(&word, near), *near)).min()?;
    (distance <= 1.max(length.min(near.len()) / 3)).then_some(near)
}

//! Expands environment variables (`$VAR` and `${VAR}`) in paths.
//!
//! The crate shellexpand stops at the first variable that is not set, and accepts an empty one, so that `$SCRATCH/x`
//! would become `/x`. This code reports all mistakes at once, each with the text at fault, and an empty variable is
//! an error.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A reference to a variable that can't be expanded, for example because the variable is not set.
#[derive(Debug, PartialEq, Eq)]
pub struct Unexpanded<'t> {
    /// The reference as the path contains it, such as `$SCRATCH`.
    pub piece: &'t str,
    /// The reason why the reference can't be expanded.
    pub reason: String,
}

/// Expands environment variables in a path: replaces `$NAME` and `${NAME}` with the variable's value, which is not
/// expanded again, and `$$` with `$`.
///
/// # Errors
/// All references that can't be expanded. Empty variables are among them, because `$SCRATCH/x` must not become `/x`.
pub fn path<'t>(text: &'t str, environment: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, Vec<Unexpanded<'t>>> {
    let mut out = OsString::new();
    let mut wrong = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        out.push(OsStr::new(&rest[..dollar]));
        let from = &rest[dollar..];
        let after = &from[1..];
        if let Some(tail) = after.strip_prefix('$') {
            out.push("$");
            rest = tail;
            continue;
        }
        let (name, piece) = match after.strip_prefix('{') {
            Some(braced) => match braced.split_once('}') {
                Some((name, _)) => (name, &from[..name.len() + 3]),
                None => (braced, from),
            },
            None => {
                let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
                (&after[..end], &from[..end + 1])
            }
        };
        let is_name = !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let reason = if !is_name || (after.starts_with('{') && !piece.ends_with('}')) {
            Some("no variable is named here: write $NAME or ${NAME}, and $$ for a dollar".to_owned())
        } else {
            match environment(name) {
                Some(value) if !value.is_empty() => {
                    out.push(value);
                    None
                }
                Some(_) => Some(format!("the environment variable {name} is empty")),
                None => Some(format!("the environment variable {name} is not set")),
            }
        };
        wrong.extend(reason.map(|reason| Unexpanded { piece, reason }));
        rest = &from[piece.len()..];
    }
    out.push(rest);
    if wrong.is_empty() { Ok(PathBuf::from(out)) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn environment(name: &str) -> Option<OsString> {
        match name {
            "USER" => Some("ada".into()),
            "DOLLAR" => Some("$USER".into()),
            "EMPTY" => Some("".into()),
            _ => None,
        }
    }

    #[test]
    fn expanded() {
        for (text, path) in [
            ("", ""),
            ("plain/é", "plain/é"),
            ("/scratch/$USER/s29", "/scratch/ada/s29"),
            ("${USER}s/x", "adas/x"),
            ("$USER$USER", "adaada"),
            ("a$$b$$$USER", "a$b$ada"),
            ("$DOLLAR", "$USER"),
        ] {
            assert_eq!(super::path(text, &environment), Ok(PathBuf::from(path)), "{text}");
        }
    }

    #[test]
    fn every_piece_that_cannot_be_expanded_is_reported() {
        let pieces = |text| match super::path(text, &environment) {
            Ok(_) => Vec::new(),
            Err(wrong) => wrong.into_iter().map(|wrong| wrong.piece).collect::<Vec<_>>(),
        };
        assert_eq!(pieces("$A/${B}/$USER/$EMPTY"), ["$A", "${B}", "$EMPTY"]);
        assert_eq!(pieces("x$"), ["$"]);
        assert_eq!(pieces("$/x"), ["$"]);
        assert_eq!(pieces("$1"), ["$1"]);
        assert_eq!(pieces("${}x"), ["${}"]);
        assert_eq!(pieces("${USER"), ["${USER"]);
        assert_eq!(pieces("${US ER}"), ["${US ER}"]);
    }

    proptest! {
        #[test]
        fn any_text_ends(text in "[${}A-Zé$/ ]{0,20}") {
            let _ = super::path(&text, &environment);
        }
    }
}

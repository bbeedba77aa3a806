//! Catches panics of libraries that parse damaged files, so that these panics do not end the program.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread is in a call of [`catch_panic`]. The panic hook then neither prints the panic nor ends
/// other ranks.
pub fn are_caught() -> bool {
    CATCHING.get()
}

/// Calls `call`, a library function that may panic on damaged input, and converts a panic to an error. State that
/// `call` has modified must not be used after a panic.
///
/// # Errors
/// The panic's message, in one line.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only the library of Parquet panics"))]
pub fn catch_panic<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    let before = CATCHING.replace(true);
    let done = catch_unwind(AssertUnwindSafe(call));
    CATCHING.set(before);
    done.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("it panicked without a message");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::resume_unwind;

    #[test]
    fn a_panic_is_a_sentence() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        // `resume_unwind` panics without printing a message.
        assert_eq!(catch_panic(|| -> u8 { resume_unwind(Box::new("of\n  7")) }), Err("of 7".into()));
        assert_eq!(catch_panic(|| -> u8 { resume_unwind(Box::new("of\n  8".to_owned())) }), Err("of 8".into()));
        assert!(!are_caught());
        assert_eq!(catch_panic(are_caught), Ok(true));
    }
}

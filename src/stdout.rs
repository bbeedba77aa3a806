//! Prints the answers of all commands to stdout.

use crate::error::{Error, Result};
use crate::quote::printable_lines;
use std::io::{self, ErrorKind, Write};

/// Prints text for people like [`print()`], without the control characters that it may have from an input.
///
/// # Errors
/// Errors of [`print()`].
pub fn show(text: &str) -> Result<()> {
    print(printable_lines(text))
}

/// Prints text to stdout with a newline at the end. A closed pipe is not an error: its reader, such as `head`, has
/// read all that it needs.
///
/// # Errors
/// [`Error::Io`] if stdout can't be written, for example because the disk is full.
pub fn print(text: impl AsRef<[u8]>) -> Result<()> {
    print_to(io::stdout().lock(), text.as_ref())
}

fn print_to(mut stdout: impl Write, text: &[u8]) -> Result<()> {
    // The text is flushed here, because a failed flush at the end of the process is silent.
    let written = stdout.write_all(text.trim_ascii_end()).and_then(|()| stdout.write_all(b"\n"));
    match written.and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            // `Error::io` would report a full disk of the workdir, which this is not.
            let source = io::Error::new(e.kind(), format!("{e}; send it to another file or disk"));
            Err(Error::Io { doing: "print the answer", path: "stdout".into(), source })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that fails when it is flushed.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_and_a_full_disk_is_an_error_of_stdout() {
        print_to(Failing(ErrorKind::BrokenPipe), b"text").unwrap();
        let error = print_to(Failing(ErrorKind::StorageFull), b"text").unwrap_err();
        assert_eq!(error.exit_code(), 10);
        assert!(error.to_string().starts_with("stdout: print the answer: ") && !error.to_string().contains("workdir"));
        let mut printed = Vec::new();
        print_to(&mut printed, b"a\nb\n\n").unwrap();
        print_to(&mut printed, b"c").unwrap();
        assert_eq!(printed, b"a\nb\nc\n");
    }
}

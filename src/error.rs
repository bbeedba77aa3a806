//! The single error type of the library. Each variant has an exit code (`docs/reference/exit-codes.md`), and each
//! message is one line: the position, what was expected, what was found, and a remedy.

use std::path::{Path, PathBuf};

/// Result of every function in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of every function in this crate. Variants are grouped by what the user can do about them.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line or the job file is wrong (exit 2). The text has a line for each mistake.
    #[error("{0}")]
    Usage(String),

    /// The input is missing, unreadable or malformed (exit 3).
    #[error("{}{at}: expected {expected}, found {found}; {remedy}", path.display())]
    Input {
        /// The input file that is missing, unreadable or malformed.
        path: PathBuf,
        /// The position of the mistake in the file.
        at: At,
        /// The text or value that was expected at this position.
        expected: String,
        /// The text or value that was found at this position.
        found: String,
        /// The remedy: what the user can do about the mistake.
        remedy: String,
    },

    /// A file that gpugraph wrote has changed since (exit 4).
    #[error("{}{at}: corrupt: {what}; {}", path.display(), rewrite_remedy(keeper.as_deref()))]
    Corrupt {
        /// The file that has changed.
        path: PathBuf,
        /// The position of the change in the file.
        at: At,
        /// What differs between the file and its expected contents, in words.
        what: String,
        /// The workdir of the job that can write the file again, if that is another job; otherwise `None`.
        keeper: Option<PathBuf>,
    },

    /// Another process is using this workdir (exit 5).
    #[error("{}: in use by {owner}; wait for it, stop it, or choose another [job] workdir", workdir.display())]
    Busy {
        /// The workdir that is in use.
        workdir: PathBuf,
        /// Host, pid, start time and scheduler job of the process that uses it.
        owner: String,
    },

    /// The workdir contains the finished results of another input (exit 5).
    #[error("{}: contains the finished results of {other}, but the input of this job is {input}; --fresh replaces them, another [job] name or workdir keeps them", workdir.display())]
    Occupied {
        /// The workdir with the results.
        workdir: PathBuf,
        /// The input to which the results belong, as text.
        other: String,
        /// The input of this job, as text.
        input: String,
    },

    /// The workdir contains results that were computed with other keys of a table than this job has (exit 5).
    #[error("{}: contains the results of {other}, but this job has {this}; run it, or name the workdir to verify what is there", workdir.display())]
    OtherTable {
        /// The workdir with the results.
        workdir: PathBuf,
        /// The keys of the table to which the results belong, as text.
        other: String,
        /// The keys of this job's table, as text.
        this: String,
    },

    /// The workdir contains unfinished work on other edges from the same stream (exit 5).
    #[error("{}: contains unfinished work on other edges from {stream}: they differ at byte {at}; --fresh starts again with the new edges, and < /dev/null carries on with those that were read before", workdir.display())]
    OtherStream {
        /// The workdir with the unfinished work.
        workdir: PathBuf,
        /// Name of the stream for messages.
        stream: String,
        /// Offset of the first byte that differs.
        at: u64,
    },

    /// The disk is full (exit 6).
    #[error("{}: out of disk: {what}; free some space or choose another [job] workdir", path.display())]
    DiskFull {
        /// The file or folder that was being written.
        path: PathBuf,
        /// The space that was needed and the space that was free, or the message of the operating system.
        what: String,
    },

    /// A command that runs no job, such as `convert`, has too little disk space for its output (exit 6).
    #[error("{}: out of disk: {what}; free some space or write to another disk (nothing of it was left)", path.display())]
    OutputFull {
        /// The output file.
        path: PathBuf,
        /// The message of the operating system.
        what: String,
    },

    /// A limit of the job is too small for this input (exit 7).
    #[error("limits.{limit} = {given} is too small for {purpose}: at least {needed} is needed")]
    Limit {
        /// Name of the limit: `host_memory` or `gpu_memory`.
        limit: &'static str,
        /// The limit as the job sets it, as text.
        given: String,
        /// The smallest limit that is enough, as text.
        needed: String,
        /// What the job needs the memory for.
        purpose: String,
    },

    /// The operating system refuses more address space to this process (exit 7).
    #[error("{purpose} takes {needed} of addresses, which the system does not give this process: {why}")]
    Addresses {
        /// What the process needs the address space for.
        purpose: String,
        /// The size of the address space that is needed, as text.
        needed: String,
        /// The limit on address space, and the remedy.
        why: String,
    },

    /// Other processes use too much of a GPU's memory (exit 7).
    #[error("{0}; finished work is kept")]
    GpuFull(String),

    /// A result did not pass its check (exit 8).
    #[error("validation failed: {0}")]
    Validation(String),

    /// A GPU or a rank was lost; the job can be resumed (exit 9).
    #[error("{0}; finished work is kept: run the same line again")]
    Lost(String),

    /// The workdir can't be read or written (exit 10).
    #[error("{}: {doing}: {source}{}", path.display(), remedy(source))]
    Io {
        /// The action that failed, for messages: "create the file".
        doing: &'static str,
        /// The file or folder on which the action failed.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },

    /// A failure for which no file, device or rank is to blame: an error of the operating system, or a bug in
    /// gpugraph (exit 10).
    #[error("this process: {doing}: {source}")]
    Internal {
        /// The action that failed, for messages: "send a message".
        doing: &'static str,
        /// The underlying error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// A signal stopped the job; all finished work is kept (exit 75).
    #[error("stopped by {0}: finished work is kept; run the same line again to carry on")]
    Stopped(&'static str),

    /// A signal stopped a command that keeps no unfinished work (exit 75).
    #[error("stopped by {0}: nothing is kept and the output was not written; run the same line again to start over")]
    Abandoned(&'static str),
}

/// Returns the remedy for a corrupt file; `keeper` is the workdir of the job that can write the file again, if it is
/// another job.
fn rewrite_remedy(keeper: Option<&Path>) -> String {
    match keeper {
        Some(workdir) => {
            format!("run the job of {} again, which keeps this graph, to write it again", workdir.display())
        }
        None => "run the job again to write it again".into(),
    }
}

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The file as a whole.
    File,
    /// A line of the file, 1-based.
    Line(u64),
    /// An offset in bytes from the start of the file.
    Byte(u64),
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            At::File => Ok(()),
            At::Line(n) => write!(f, ":{n}"),
            At::Byte(n) => write!(f, " at byte {n}"),
        }
    }
}

/// Returns advice about an error of the operating system; empty if the error's own message is enough.
fn remedy(source: &std::io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EMFILE) => "; allow a process more open files: ulimit -n 1024",
        Some(libc::EISDIR) => "; a folder is in the way: move or remove it",
        Some(libc::EEXIST) => {
            "; a file, or a link that leads nowhere, is in the way: move or remove it, or name another place"
        }
        Some(libc::ENOTDIR) => "; a file is where the path has a folder: name another place",
        Some(libc::ENOENT) => "; check whether its folder exists, or was removed",
        Some(libc::EACCES | libc::EPERM) => "; check the owner and the permissions of it and its folder (ls -ld)",
        Some(libc::EROFS) => "; the file system is read-only: name a place on another",
        Some(libc::ENAMETOOLONG) => "; name a shorter one",
        _ => "",
    }
}

/// The kinds of errors, by what the caller can do about them. They correspond to exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Options, keys or arguments are wrong, or mutually exclusive.
    Usage,
    /// The input is missing, unreadable or malformed.
    Input,
    /// A stored file has changed since it was written.
    Corrupt,
    /// The workdir is in use, or holds the results of another input.
    Busy,
    /// The disk is full.
    DiskFull,
    /// A limit is too small. The message names a limit that is enough.
    Limit,
    /// A result did not pass its check.
    Validation,
    /// A GPU or a rank was lost.
    Lost,
    /// The operating system or gpugraph itself failed.
    Io,
    /// The work was cancelled, or a signal stopped it.
    Stopped,
}

impl Error {
    /// Returns the kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self.exit_code() {
            2 => ErrorKind::Usage,
            3 => ErrorKind::Input,
            4 => ErrorKind::Corrupt,
            5 => ErrorKind::Busy,
            6 => ErrorKind::DiskFull,
            7 => ErrorKind::Limit,
            8 => ErrorKind::Validation,
            9 => ErrorKind::Lost,
            75 => ErrorKind::Stopped,
            _ => ErrorKind::Io,
        }
    }

    /// Returns true if the error is that a file or a folder does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }

    /// Returns the exit code of this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            Error::Input { .. } => 3,
            Error::Corrupt { .. } => 4,
            Error::Busy { .. } | Error::Occupied { .. } | Error::OtherTable { .. } | Error::OtherStream { .. } => 5,
            Error::DiskFull { .. } | Error::OutputFull { .. } => 6,
            Error::Limit { .. } | Error::Addresses { .. } | Error::GpuFull(_) => 7,
            Error::Validation(_) => 8,
            Error::Lost(_) => 9,
            Error::Io { .. } | Error::Internal { .. } => 10,
            Error::Stopped(_) | Error::Abandoned(_) => 75,
        }
    }

    /// Returns the error for bad input at a position in a file.
    pub fn input(
        path: impl AsRef<Path>,
        at: At,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Error::Input {
            path: path.as_ref().to_owned(),
            at,
            expected: expected.into(),
            found: found.into(),
            remedy: remedy.into(),
        }
    }

    /// Returns the error for an input file that can't be opened or read.
    pub fn unreadable(path: impl AsRef<Path>, source: &std::io::Error) -> Self {
        let remedy = match source.raw_os_error() {
            Some(libc::EMFILE) => "allow this process more open files (ulimit -n), or fewer threads",
            Some(libc::ENFILE) => "the machine has no more open files to give: close some, or raise fs.file-max",
            _ if path.as_ref().to_string_lossy().contains("://") => {
                "no URLs are read: download it, or pipe it in (curl -L URL | gpugraph run JOB.toml --set input.path=- --set input.format=text)"
            }
            _ => "check the path and its permissions",
        };
        Error::input(path, At::File, "a readable file", source.to_string(), remedy)
    }

    /// Returns the error for a failed read or write of a file that gpugraph owns; [`Error::DiskFull`] if the disk or
    /// the quota is full.
    pub fn io(doing: &'static str, path: impl AsRef<Path>, source: std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Error::DiskFull { path, what: format!("{source}: of bytes (df -h) or of files (df -i)") }
            }
            std::io::ErrorKind::FileTooLarge => {
                Error::DiskFull { path, what: format!("{source}: raise `ulimit -f`, if that is set") }
            }
            _ => Error::Io { doing, path, source },
        }
    }

    /// Returns the error for too little address space to reserve `bytes` bytes. `limit` is the value of
    /// `limits.host_memory`, and `left` is what `ulimit -v` leaves, if it is set.
    pub fn addresses(bytes: u64, purpose: &str, limit: u64, left: Option<u64>, e: &std::io::Error) -> Self {
        let show = crate::size::show;
        let why = match left {
            Some(left) => format!(
                "`ulimit -v` leaves it {}; raise that (`ulimit -v unlimited`), or set limits.host_memory, now {}, to less",
                show(left),
                show(limit)
            ),
            None => format!("{e}; set limits.host_memory, now {}, to less", show(limit)),
        };
        Error::Addresses { purpose: purpose.to_owned(), needed: show(bytes), why }
    }

    /// Returns the error for too little address space to map the `bytes` bytes of the file at `path`; `left` is what
    /// `ulimit -v` leaves, if it is set.
    pub fn unmapped(path: &Path, bytes: u64, left: Option<u64>, remedy: &str, e: &std::io::Error) -> Self {
        let show = crate::size::show;
        let why = match left {
            Some(left) => {
                format!("`ulimit -v` leaves it {}; raise that (`ulimit -v unlimited`){remedy}", show(left))
            }
            None => format!("{e}; free some of its memory{remedy}"),
        };
        Error::Addresses { purpose: format!("{}, which is mapped,", path.display()), needed: show(bytes), why }
    }

    /// Returns the error for a thread that could not be started.
    pub fn thread() -> Self {
        let why = "raise `ulimit -v` or `ulimit -u`, or set limits.threads to less (convert, generate: --threads)";
        Error::Addresses { purpose: "a thread".into(), needed: "2 MiB or more".into(), why: why.into() }
    }

    /// Returns [`Error::Internal`], for a failure for which no file, device or rank is to blame.
    pub fn internal(doing: &'static str, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Error::Internal { doing, source: why.into() }
    }

    /// Returns the error for a stored file that has changed.
    pub fn corrupt(path: impl AsRef<Path>, at: At, what: impl Into<String>) -> Self {
        Error::Corrupt { path: path.as_ref().to_owned(), at, what: what.into(), keeper: None }
    }

    /// Replaces the file name of an input error by `stream`, if the error is about `spooled`, the copy of that stream
    /// on disk.
    pub fn name_stream(self, spooled: &Path, stream: &str) -> Self {
        match self {
            Error::Input { path, at, expected, found, remedy } if path == spooled => {
                Error::Input { path: stream.into(), at, expected, found, remedy }
            }
            other => other,
        }
    }

    /// Turns [`Error::DiskFull`] into [`Error::OutputFull`], whose advice suits commands without a workdir.
    #[must_use]
    pub(crate) fn of_output(self) -> Error {
        match self {
            Error::DiskFull { path, what } => Error::OutputFull { path, what },
            other => other,
        }
    }

    /// Adds advice to an error about a corrupt file in `workdir`: run the job of that workdir again.
    pub fn advise_rerun(self, workdir: &Path) -> Self {
        match self {
            Error::Corrupt { path, at, what, .. } if path.starts_with(workdir) => {
                Error::Corrupt { path, at, what, keeper: Some(workdir.to_owned()) }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Error;
    use std::io;

    #[test]
    fn errors_of_the_system_say_what_to_do() {
        let said = |doing, source| Error::io(doing, "w/x", source).to_string();
        let many = said("create", io::Error::from_raw_os_error(libc::EMFILE));
        assert_eq!(
            many,
            "w/x: create: Too many open files (os error 24); allow a process more open files: ulimit -n 1024"
        );
        let folder = tempfile::tempdir().unwrap();
        let source = std::fs::remove_file(folder.path()).unwrap_err();
        assert!(said("remove", source).ends_with("; a folder is in the way: move or remove it"));
        assert_eq!(said("read", io::Error::other("none")), "w/x: read: none");
        // A link that leads nowhere, a file in place of a folder, a folder that is gone.
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        std::fs::write(&file, "").unwrap();
        for (path, remedy) in [(link, "leads nowhere"), (file.join("x"), "a file is where")] {
            let source = std::fs::create_dir_all(path).unwrap_err();
            assert!(said("make the folder", source).contains(remedy));
        }
        let source = std::fs::File::create(folder.path().join("gone/x")).unwrap_err();
        assert!(said("create", source).contains("check whether its folder exists"));
        let long = said("write", io::Error::from_raw_os_error(libc::EFBIG));
        assert!(long.contains("out of disk") && long.contains("ulimit -f"), "{long}");
    }
}

"""Exceptions, one for each kind of error. Each has the message and the exit code of the command ``gpugraph``."""

__all__ = [
    "BusyError",
    "CorruptError",
    "DiskFullError",
    "Error",
    "InputError",
    "LimitError",
    "LostError",
    "StoppedError",
    "SystemFailure",
    "UsageError",
    "ValidationError",
]


class Error(Exception):
    """Base class of all errors of gpugraph."""

    #: The exit code with which the command ``gpugraph`` ends on this error.
    exit_code: int = 10


class UsageError(Error, ValueError):
    """Arguments, options or keys of a job are wrong or exclude each other, or an array has the wrong shape or dtype."""

    exit_code = 2


class InputError(Error, ValueError):
    """The input is missing, unreadable or malformed, or the graph has no such vertex."""

    exit_code = 3


class CorruptError(Error):
    """A stored file has changed since it was written."""

    exit_code = 4


class BusyError(Error):
    """The workdir is in use, or contains the results of another input."""

    exit_code = 5


class DiskFullError(Error, OSError):
    """The disk is full. Finished work is kept."""

    exit_code = 6


class LimitError(Error, MemoryError):
    """A limit is too small. The message names a limit that is enough."""

    exit_code = 7


class ValidationError(Error):
    """A result did not pass its check."""

    exit_code = 8


class LostError(Error):
    """A GPU or a rank was lost. The same call resumes the work."""

    exit_code = 9


class SystemFailure(Error, OSError):
    """The operating system reported an error: a folder can't be written, or a thread can't be started."""

    exit_code = 10


class StoppedError(Error):
    """A signal stopped the work. Ctrl-C raises ``KeyboardInterrupt`` instead."""

    exit_code = 75

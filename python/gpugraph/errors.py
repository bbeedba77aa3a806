"""Exceptions by kind. Each has the message that the command line prints, and its exit code."""

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
    """An error of gpugraph. All others are subclasses."""

    #: The exit code with which the command ``gpugraph`` ends on this error.
    exit_code: int = 10


class UsageError(Error, ValueError):
    """Arguments, options or keys of a job are wrong or exclude each other. Arrays have another shape or dtype."""

    exit_code = 2


class InputError(Error, ValueError):
    """The input is missing, unreadable or malformed, or the graph has no such vertex."""

    exit_code = 3


class CorruptError(Error):
    """A stored file has changed since it was written."""

    exit_code = 4


class BusyError(Error):
    """The workdir is in use, or holds the results of another input."""

    exit_code = 5


class DiskFullError(Error, OSError):
    """The disk is full. Finished work is kept."""

    exit_code = 6


class LimitError(Error, MemoryError):
    """A limit is too small. The message names one that is enough."""

    exit_code = 7


class ValidationError(Error):
    """A result did not pass its check."""

    exit_code = 8


class LostError(Error):
    """A GPU or a rank was lost. The same call carries on."""

    exit_code = 9


class SystemFailure(Error, OSError):
    """The system failed: a folder can't be written, a thread can't be started."""

    exit_code = 10


class StoppedError(Error):
    """The work was stopped from outside. Ctrl-C raises ``KeyboardInterrupt`` instead."""

    exit_code = 75

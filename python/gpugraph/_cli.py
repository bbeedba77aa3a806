"""The command ``gpugraph``."""

import signal
import sys
from typing import NoReturn

from . import _gpugraph


def main() -> NoReturn:
    """Runs the command with the arguments of the command line, and ends the process with its exit code."""
    # The command has its own handler: the first signal saves finished work, a second one ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _gpugraph.main(["gpugraph", *sys.argv[1:]])

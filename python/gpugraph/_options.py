"""Checks of integer options."""

from __future__ import annotations

import operator
from typing import Any, Optional

from .errors import UsageError


def index_of(value: Any) -> Optional[int]:
    """Returns an integer of any type as an int; None for any other value, including True and False."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def whole(name: str, value: Any, bits: int = 64) -> int:
    """Returns `value` as an int from 0 to 2**bits - 1.

    Raises:
        gpugraph.errors.UsageError: It is not such a number. The extension's own exceptions would not name the option.
    """
    number = index_of(value)
    if number is None:
        raise UsageError(f"{name}: expected a whole number, found {value!r}")
    if not 0 <= number < 1 << bits:
        raise UsageError(f"{name}: expected a whole number from 0 to {(1 << bits) - 1}, found {number}")
    return number


def whole_or_none(name: str, value: Any, bits: int = 64) -> Optional[int]:
    """Returns None if `value` is None, and otherwise the result of :func:`whole`."""
    return None if value is None else whole(name, value, bits)

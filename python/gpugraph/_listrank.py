"""List ranking."""

from __future__ import annotations

import os
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _gpugraph
from ._context import Context, context_or_default
from ._results import Ranks, Rows
from .errors import UsageError


def listrank(
    successors: Union[ArrayLike, str, os.PathLike[str]],
    *,
    order: str = "successors",
    method: str = "auto",
    context: Optional[Context] = None,
) -> Ranks:
    """Ranks a linked list: how many elements are behind each element, or before it.

    Args:
        successors: The next element after each element, or -1 after the last one: an array of shape (n,) and dtype int32 or
            int64, which is not copied. Or the path of a file, whose format follows from its extension.
        order: ``"successors"``: the last element has rank 0. ``"from-head"``: the first element has rank 0.
        method: ``"auto"``, ``"serial"``, ``"wyllie"`` or ``"ruling-set"``. All find the same ranks.
        context: Limits and device for the call.

    Returns:
        The ranks, int64 of shape (n,), with the head of the list.

    Raises:
        gpugraph.errors.UsageError: The array has another shape or dtype, or a successor is not an element of the list.
        gpugraph.errors.InputError: The elements do not form one list, or the file can't be read.
        gpugraph.errors.LimitError: A limit is too small.
    """
    native = context_or_default(context)._opened()
    if isinstance(successors, (str, os.PathLike)):
        found = _gpugraph.rank_file(native, os.fspath(successors), method, order)
    else:
        found = _gpugraph.rank(native, _list_of(successors), method, order)
    head, checksum, seconds, ranks = found
    return Ranks(Rows(len(ranks)), head, checksum, ranks, seconds)


def _list_of(successors: ArrayLike) -> np.ndarray[Any, Any]:
    array = np.asarray(successors)
    if array.ndim == 1 and array.size == 0:
        return array.astype(np.int64)
    if array.ndim != 1 or array.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise UsageError(
            f"successors: expected an array of shape (n,) and dtype int32 or int64, "
            f"found shape {array.shape} and dtype {array.dtype}"
        )
    return array

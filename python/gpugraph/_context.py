"""Contexts: limits on memory, threads and devices for calls."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, Optional, Union

from . import _gpugraph
from ._options import whole, whole_or_none
from .errors import UsageError

if TYPE_CHECKING:
    from types import TracebackType

    from ._graph import Graph


class Context:
    """Limits, device and temporary folder for calls.

    Calls in one process run one after another, because each uses all threads and the whole GPU. Calls without a context
    share a default one.

    Args:
        host_memory: Limit in bytes, or text such as ``"8GiB"``. The default is 80 % of the free memory.
        gpu_memory: The same for the memory of the GPU. The default is 90 % of its free memory.
        threads: Number of threads. 0 means one for each core that the process may use.
        device: ``"auto"``, ``"cpu"`` or ``"gpu"``.
        gpu: Index of the GPU, as ``gpugraph devices`` lists them.
        temporary_folder: Folder for graphs that have no workdir. Choose one on a fast disk: a graph takes about 4 bytes
            an edge there.
        progress: A function that is called a few times a second during a call, with the name of the stage, the
            work done, and the total work (0 if it is unknown). It must not call gpugraph. An exception that it raises
            stops the call.

    Raises:
        gpugraph.errors.UsageError: An argument is not valid, or ``temporary_folder`` is not a folder.
    """

    def __init__(
        self,
        *,
        host_memory: Optional[Union[int, str]] = None,
        gpu_memory: Optional[Union[int, str]] = None,
        threads: int = 0,
        device: str = "auto",
        gpu: Optional[int] = None,
        temporary_folder: Optional[Union[str, os.PathLike[str]]] = None,
        progress: Optional[Callable[[str, int, int], object]] = None,
    ) -> None:
        if progress is not None and not callable(progress):
            raise UsageError(f"progress: expected a function, found {progress!r}")
        folder = None if temporary_folder is None else os.fspath(temporary_folder)
        self._native: Optional[_gpugraph.Context] = _gpugraph.Context(
            host_memory if isinstance(host_memory, str) else whole_or_none("host_memory", host_memory),
            gpu_memory if isinstance(gpu_memory, str) else whole_or_none("gpu_memory", gpu_memory),
            whole("threads", threads),
            device,
            whole_or_none("gpu", gpu, 32),
            folder,
            progress,
        )
        self._graphs: weakref.WeakSet[Graph] = weakref.WeakSet()
        _open.add(self)

    def close(self) -> None:
        """Closes the context and its graphs, and removes their temporary files. Results stay valid."""
        self._native = None
        for graph in list(self._graphs):
            graph.close()

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return self._native is None

    def __enter__(self) -> Context:
        self._opened()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __getstate__(self) -> NoReturn:
        raise TypeError("a context can't be copied or pickled: make a new one")

    def _opened(self) -> _gpugraph.Context:
        if self._native is None:
            raise UsageError("the context is closed: make a new one")
        return self._native


#: Contexts whose graphs have temporary files, which are removed when Python ends.
_open: weakref.WeakSet[Context] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for context in list(_open):
        context.close()


_default: Optional[tuple[int, Context]] = None
_lock = threading.Lock()


def context_or_default(context: Optional[Context]) -> Context:
    """Returns `context`, or the default context of this process if it is None."""
    global _default
    if context is not None:
        return context
    with _lock:
        if _default is None or _default[0] != os.getpid() or _default[1].closed:
            _default = (os.getpid(), Context())
        return _default[1]

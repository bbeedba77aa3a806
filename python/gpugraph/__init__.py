"""Exact graph algorithms on graphs larger than GPU memory and host memory.

>>> import gpugraph
>>> graph = gpugraph.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
>>> graph.triangles().per_vertex
array([1, 1, 1, 0], dtype=uint64)

- ``Graph`` is built once, from files or from memory. Its methods run algorithms on it.
- ``run``, ``plan`` and ``status`` run job files as the commands ``gpugraph run``, ``plan`` and ``status`` do.
- ``listrank`` ranks a linked list.
- ``Context`` limits memory and threads, chooses the device, and reports progress.
- ``gpugraph.errors`` contains an exception for each kind of error; all are subclasses of ``gpugraph.Error``.

gpugraph reads arrays without copying them. Result arrays are read-only; copy an array before you change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors as errors

if TYPE_CHECKING:
    from ._context import Context as Context
    from ._gpugraph import __version__ as __version__
    from ._graph import Graph as Graph
    from ._job import Plan as Plan
    from ._job import Report as Report
    from ._job import Status as Status
    from ._job import plan as plan
    from ._job import run as run
    from ._job import status as status
    from ._listrank import listrank as listrank
    from ._results import BfsTree as BfsTree
    from ._results import Centralities as Centralities
    from ._results import Communities as Communities
    from ._results import Comparisons as Comparisons
    from ._results import Components as Components
    from ._results import Cores as Cores
    from ._results import DfsTree as DfsTree
    from ._results import DirectedClustering as DirectedClustering
    from ._results import Distances as Distances
    from ._results import EdgeSupports as EdgeSupports
    from ._results import PageRanks as PageRanks
    from ._results import Paths as Paths
    from ._results import Ranks as Ranks
    from ._results import SourceDistances as SourceDistances
    from ._results import Triangles as Triangles
    from .errors import Error as Error

_PLACES = {
    "_context": ["Context"],
    "_gpugraph": ["__version__"],
    "_graph": ["Graph"],
    "_job": ["Plan", "Report", "Status", "plan", "run", "status"],
    "_listrank": ["listrank"],
    "_results": [
        "BfsTree",
        "Centralities",
        "Communities",
        "Comparisons",
        "Components",
        "Cores",
        "DfsTree",
        "DirectedClustering",
        "Distances",
        "EdgeSupports",
        "PageRanks",
        "Paths",
        "Ranks",
        "SourceDistances",
        "Triangles",
    ],
    "errors": ["Error"],
}

__all__ = sorted(name for names in _PLACES.values() for name in names)


def __getattr__(name: str) -> Any:
    # Imported at first use, because the command `gpugraph` does not need NumPy, which starts threads.
    from importlib import import_module

    for module, names in _PLACES.items():
        if name in names:
            value = getattr(import_module(f".{module}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""Edges from arrays, tables, matrices and networkx graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from .errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_IDS = (np.dtype(np.uint32), np.dtype(np.int32), np.dtype(np.uint64), np.dtype(np.int64))
_IDS_TEXT = "uint32, int32, uint64 or int64"
_WEIGHTS = (np.dtype(np.uint32), np.dtype(np.uint64), np.dtype(np.float32), np.dtype(np.float64))


@dataclass
class Edges:
    """Edges in arrays that the extension reads without copying them."""

    sources: NDArray[Any]
    targets: NDArray[Any]
    #: Array of dtype uint32, uint64, float32 or float64.
    weights: Optional[NDArray[Any]] = None
    #: Number of vertices, if ids without edges are vertices, too.
    vertices: Optional[int] = None
    #: The label of each id, if the caller's vertices are not consecutive numbers from 0.
    labels: Optional[NDArray[Any]] = None
    directed: bool = False


def edges_of(data: Any, columns: Optional[Sequence[Any]], weights: Union[str, ArrayLike]) -> Edges:
    """Returns the edges of `data`.

    `weights` is ``"auto"`` (the weights in `data`, if any), ``"none"``, or an array.
    """
    asked = weights if isinstance(weights, str) else "array"
    if asked not in ("auto", "none", "array"):
        raise UsageError(f'weights: expected "auto", "none" or an array for edges in memory, found {weights!r}')
    kind = type(data).__module__.partition(".")[0]
    if kind == "networkx" or hasattr(data, "adjacency") and hasattr(data, "is_multigraph"):
        edges = _of_networkx(data, columns, asked)
    elif kind == "scipy" and hasattr(data, "tocoo"):
        _refuse_columns(columns, "a matrix")
        edges = _of_matrix(data, asked)
    elif kind in ("pandas", "pyarrow", "polars") and hasattr(data, "columns"):
        edges = _of_table(data, columns, asked)
    else:
        _refuse_columns(columns, "an array")
        edges = _of_arrays(data)
    if asked == "array":
        edges.weights = weight_array(_numbers(weights), len(edges.sources))
    return edges


def _refuse_columns(columns: Optional[Sequence[Any]], what: str) -> None:
    if columns is not None:
        raise UsageError(f"columns are for files and tables: {what} has none")


def _of_arrays(data: Any) -> Edges:
    if isinstance(data, tuple) and len(data) == 2:
        sources, targets = (_unmasked(end, "edges") for end in data)
    else:
        array = _unmasked(data, "edges")
        if array.size == 0 and not isinstance(data, np.ndarray):
            array = np.empty((0, 2), dtype=np.int64)
        if array.ndim != 2 or array.shape[1] != 2:
            raise UsageError(
                "edges: expected an array of shape (m, 2), a pair of arrays of shape (m,), a table, a matrix or a networkx "
                f"graph, found {_described(data, array)}"
            )
        sources, targets = array[:, 0], array[:, 1]
    sources, targets = _ends(sources, targets)
    if len(sources) != len(targets):
        raise UsageError(f"edges: expected arrays of one length, found {len(sources)} sources and {len(targets)} targets")
    return Edges(sources, targets)


def _described(data: Any, array: NDArray[Any]) -> str:
    if array.dtype == object and array.ndim == 0:
        return f"an object of type {type(data).__name__}"
    return f"an array of shape {array.shape} and dtype {array.dtype}"


def _unmasked(values: Any, what: str) -> NDArray[Any]:
    """Returns values as an array. Refuses masked elements, which numpy would read as ordinary values. Preserves integers in a
    list, which numpy converts to float64 if only some of them are 2^63 or more."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise UsageError(f"{what}: expected an array without masked elements; leave out their edges")
    array = np.asarray(values)
    if array.dtype.kind == "f" and isinstance(values, (list, tuple)):
        objects = np.asarray(values, dtype=object)
        if all(isinstance(number, (int, np.integer)) and number >= 0 for number in objects.flat):
            return objects.astype(np.uint64)
    return array


def _ends(sources: NDArray[Any], targets: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns both endpoints of edges as arrays that are both signed or both unsigned.

    pandas stores a column with an id of 2^63 or more as uint64, but the other column as int64.
    """
    first, second = _ids(sources, "sources"), _ids(targets, "targets")
    if first.dtype.kind == second.dtype.kind:
        return first, second
    return _unsigned(first), _unsigned(second)


def _unsigned(ids: NDArray[Any]) -> NDArray[Any]:
    if ids.dtype.kind == "i" and (ids < 0).any():
        at = int((ids < 0).argmax())
        raise UsageError(f"edge {at} in memory: expected ids of 0 or more, found {ids[at]}; correct or leave out the edge")
    return ids.view(f"u{ids.dtype.itemsize}")


def _ids(array: NDArray[Any], what: str) -> NDArray[Any]:
    if array.ndim != 1:
        raise UsageError(f"{what}: expected an array of shape (m,), found shape {array.shape}")
    if array.dtype in _IDS:
        return array
    if array.dtype.kind in "ui":
        # Widens shorter integers, and converts integers in another byte order.
        return array.astype(f"{array.dtype.kind}{max(array.dtype.itemsize, 4)}")
    raise UsageError(f"{what}: expected a dtype of {_IDS_TEXT}, found {array.dtype}")


def _numbers(values: Any) -> NDArray[Any]:
    """Returns weights as an array. numpy converts integers among decimals to float64. Refuses integers that this rounds."""
    array = _unmasked(values, "weights")
    if array.dtype.kind == "f" and array.ndim == 1 and isinstance(values, (list, tuple)):
        for at in np.flatnonzero(array >= 1 << 53).tolist():
            if isinstance(values[at], (int, np.integer)) and int(values[at]) != int(array[at]):
                raise UsageError(f"weight {at}: expected a number that float64 holds exactly, found {values[at]}")
    return array


def weight_array(array: NDArray[Any], edges: int) -> NDArray[Any]:
    """Converts weights to uint32, uint64, float32 or float64, without rounding."""
    if array.shape != (edges,):
        raise UsageError(f"weights: expected an array of shape ({edges},), found shape {array.shape}")
    if array.dtype in _WEIGHTS:
        return array
    if array.dtype.kind in "uib":
        if (array < 0).any():
            at = int((array < 0).argmax())
            raise UsageError(f"weight {at}: expected a number of 0 or more, found {array[at]}")
        is_short = array.dtype.itemsize < 4 or not (array > 0xFFFF_FFFF).any()
        return array.astype(np.uint32 if is_short else np.uint64)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return array.astype(np.float32 if array.dtype.itemsize < 8 else np.float64)
    raise UsageError(f"weights: expected a dtype of integers, float32 or float64, found {array.dtype}")


def _of_matrix(matrix: Any, asked: str) -> Edges:
    coo = matrix.tocoo()
    if coo.ndim != 2 or coo.shape[0] != coo.shape[1]:
        raise UsageError(f"a matrix of edges: expected a square one, found shape {coo.shape}")
    weights = None
    if asked == "auto" and coo.data.dtype.kind != "b":
        weights = weight_array(coo.data, len(coo.data))
    return Edges(_ids(coo.row, "rows"), _ids(coo.col, "columns"), weights, vertices=coo.shape[0])


def _of_table(table: Any, columns: Optional[Sequence[Any]], asked: str) -> Edges:
    names = list(getattr(table, "column_names", table.columns))
    chosen = list(columns) if columns is not None else names[:2]
    for name in chosen:
        if name not in names:
            raise UsageError(f"columns: no column {name!r}; there are {', '.join(map(repr, names))}")
    if len(chosen) not in (2, 3):
        raise UsageError(f"columns: expected two, or three with the weight, found {len(chosen)}")
    sources, targets = (_array(table[name]) for name in chosen[:2])
    edges = numbered(sources, targets)
    if asked == "auto":
        weight = None
        if len(chosen) == 3:
            weight = _array(table[chosen[2]])
        elif columns is None and len(names) > 2:
            third = _array(table[names[2]])
            weight = third if third.dtype.kind in "uif" else None
        if weight is not None:
            edges.weights = weight_array(weight, len(sources))
    return edges


def _array(column: Any) -> NDArray[Any]:
    """Returns a column of a table as an array, without a copy if that is possible."""
    array = np.asarray(column)
    if array.dtype.kind in "mM":
        # The table's own time objects become the labels. tolist() of a numpy array could return integers instead.
        return object_array(column.to_pylist() if hasattr(column, "to_pylist") else list(column))
    return array


def numbered(sources: NDArray[Any], targets: NDArray[Any]) -> Edges:
    """Returns edges between vertices of any type. Vertices that are not integers are numbered in sorted order."""
    if sources.dtype.kind in "ui" and targets.dtype.kind in "ui":
        return Edges(*_ends(sources, targets))
    if "f" in (sources.dtype.kind, targets.dtype.kind):
        found = sources.dtype if sources.dtype.kind == "f" else targets.dtype
        raise UsageError(f"ids: expected a dtype of {_IDS_TEXT}, or text, found {found}; missing values make it so")
    # As objects, because numpy would convert numbers to text if they are next to text.
    ends = [sources, targets] if sources.dtype.kind == targets.dtype.kind else [sources.astype(object), targets.astype(object)]
    codes, labels = _factorized(np.concatenate(ends))
    if (codes < 0).any():
        at = int((codes < 0).argmax()) % len(sources)
        raise UsageError(f"edge {at}: expected two ids, found a missing value; leave out the edge")
    codes = codes.astype(np.int64, copy=False)
    return Edges(codes[: len(sources)], codes[len(sources) :], vertices=len(labels), labels=labels)


def _factorized(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns the index of each value among the sorted distinct values, and these values. A missing value has index -1."""
    try:
        import pandas as pd
    except ImportError:
        try:
            labels, codes = np.unique(values, return_inverse=True)
        except TypeError:
            raise UsageError("ids: numbers next to text need pandas, which is not installed") from None
        return codes.reshape(-1), labels.astype(object)
    codes, found = pd.factorize(values, sort=True)
    return codes, np.asarray(found, dtype=object)


def _of_networkx(graph: Any, columns: Optional[Sequence[Any]], asked: str) -> Edges:
    if columns is not None and len(columns) != 1:
        raise UsageError("columns of a networkx graph: expected one, the attribute that has the weight")
    attribute = columns[0] if columns is not None else "weight"
    nodes = list(graph)
    if not _are_numbers_from_0(nodes):
        try:
            nodes = sorted(nodes)
        except TypeError:
            pass  # Nodes of several types keep the order of the graph.
        labels: Optional[NDArray[Any]] = object_array(nodes)
    else:
        nodes, labels = list(range(len(nodes))), None
    ends, weights = ends_of(graph, {node: number for number, node in enumerate(nodes)}, attribute, MISSING)
    edges = Edges(ends[:, 0], ends[:, 1], vertices=len(nodes), labels=labels, directed=graph.is_directed())
    if asked == "auto" and any(weight is not MISSING for weight in weights):
        # An edge without the attribute has weight 1, as in networkx.
        edges.weights = weight_array(_numbers([1 if weight is MISSING else weight for weight in weights]), len(ends))
    return edges


def _are_numbers_from_0(nodes: list[Any]) -> bool:
    return all(type(node) is int and 0 <= node < len(nodes) for node in nodes)


#: Marks an attribute that an edge does not have. None would be a possible value.
MISSING = object()


def ends_of(graph: Any, numbers: dict[Any, int], attribute: Any, default: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Returns the endpoints of the edges of a networkx graph, shape (m, 2), and an attribute of each edge, or `default`."""
    flat: list[int] = []
    values: list[Any] = []
    for u, v, value in graph.edges(data=attribute, default=default):
        flat += (numbers[u], numbers[v])
        values.append(value)
    return np.asarray(flat, dtype=np.int64).reshape(-1, 2), values


def object_array(items: Sequence[Any]) -> NDArray[Any]:
    """Returns an array of objects with one element per item, even if items are tuples."""
    array = np.empty(len(items), dtype=object)
    array[:] = items if not any(isinstance(item, (tuple, list, np.ndarray)) for item in items) else None
    if len(items) and array[0] is None:
        for at, item in enumerate(items):
            array[at] = item
    return array

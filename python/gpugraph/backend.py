"""A backend of networkx: ``nx.triangles(G, backend="gpugraph")``, or ``NETWORKX_BACKEND_PRIORITY=gpugraph``.

Results are those of networkx. What a function here does not do (clustering with weights or direction, weights that are
functions, negative, or not exact), networkx does itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Optional

import networkx as nx
import numpy as np

from ._graph import Graph
from ._sources import MISSING, Edges, ends_of, object_array

_FUNCTIONS = (
    "clustering",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path_length",
    "strongly_connected_components",
    "transitivity",
    "triangles",
)

#: Graphs with fewer nodes and fewer edges stay with networkx. Milliseconds at 50,000 edges and a mean degree of 4, where a first
#: call converts the graph (networkx 3.6, two cores, commit 18bfd315):
#:
#: | function                            | networkx | first call | later calls |
#: | ----------------------------------- | -------- | ---------- | ----------- |
#: | triangles                           |       85 |         71 |           5 |
#: | clustering                          |      245 |         84 |           6 |
#: | single_source_shortest_path_length  |       25 |         83 |           4 |
#: | single_source_dijkstra_path_length  |      139 |        167 |           6 |
#: | strongly_connected_components       |       68 |         92 |          10 |
_FEW = 50_000


class BackendGraph:
    """A networkx graph, as arrays of edges. It is prepared at the first call that needs it."""

    __networkx_backend__ = "gpugraph"

    def __init__(self, graph: Any, attributes: Mapping[Any, Any]) -> None:
        self.nodes: list[Any] = list(graph)
        self._numbers = {node: number for number, node in enumerate(self.nodes)}
        self._directed, self._multi = bool(graph.is_directed()), bool(graph.is_multigraph())
        self._weights: dict[Any, list[Any]] = {}
        self._ends, _ = ends_of(graph, self._numbers, MISSING, None)
        for attribute, default in attributes.items():
            _, self._weights[attribute] = ends_of(graph, self._numbers, attribute, default)
        self._graphs: dict[tuple[bool, Any], Graph] = {}

    def __getstate__(self) -> dict[str, Any]:
        # networkx keeps this object in the graph, which is pickled with it. A copy prepares its graphs itself.
        return {**self.__dict__, "_graphs": {}}

    def is_directed(self) -> bool:
        return self._directed

    def is_multigraph(self) -> bool:
        return self._multi

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: Any) -> bool:
        try:
            return node in self._numbers
        except TypeError:
            return False

    def number(self, node: Any) -> int:
        """Returns the number of a source."""
        if node not in self:
            raise nx.NodeNotFound(f"Node {node} not found in graph")
        return self._numbers[node]

    def graph(self, directed: bool, attribute: Any = None) -> Graph:
        """Returns the graph, with weights if `attribute` names them."""
        key = (directed, attribute)
        if key not in self._graphs:
            weights = None if attribute is None else _weights(self._weights[attribute])
            ends, labels = self._ends, object_array(self.nodes)
            edges = Edges(ends[:, 0], ends[:, 1], weights, len(self.nodes), labels, directed)
            self._graphs[key] = Graph._from_edges(edges)
        return self._graphs[key]


def _weights(values: list[Any]) -> np.ndarray[Any, Any]:
    """Returns weights as uint64 or float64, if sums along a path are then those of networkx, which adds up the values."""
    array, kinds = np.asarray(values), set(map(type, values))
    # np.float32 adds up in float32, and np.float64 is a float.
    if array.dtype.kind not in "iuf" or not all(issubclass(kind, (int, float, np.integer)) for kind in kinds):
        raise NotImplementedError("gpugraph takes weights that are integers or of float64")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise NotImplementedError("gpugraph takes finite weights of 0 or more")
    # Up to these, sums are the same. Python's integers have no end, numpy's overflow, and float64 rounds integers.
    limits: list[float] = [np.iinfo(kind).max for kind in kinds if issubclass(kind, np.integer)]
    if array.dtype.kind != "f":
        limits.append((1 << 63) - 1)
    elif not all(issubclass(kind, float) for kind in kinds):
        limits.append((1 << 53) - 1)
    # A path has less than n edges, so no sum along one is larger.
    largest = float(np.sum(array, dtype=np.float64)) * (1 + 1e-9)
    if not np.isfinite(largest) or any(largest > limit for limit in limits):
        raise NotImplementedError("gpugraph takes weights whose sums neither overflow nor are rounded as integers")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.uint64)


def _simple(G: Any) -> Any:
    if G.is_directed():
        return "gpugraph computes it without direction"
    return "gpugraph counts repeated edges once" if G.is_multigraph() else True


class Backend:
    """The functions, under the names of networkx."""

    @staticmethod
    def convert_from_nx(
        graph: Any,
        *,
        edge_attrs: Optional[Mapping[Any, Any]] = None,
        **_: Any,
    ) -> BackendGraph:
        """Converts a graph; `edge_attrs` are the attributes that a function reads, with their defaults."""
        return BackendGraph(graph, edge_attrs or {})

    @staticmethod
    def convert_to_nx(value: Any, **_: Any) -> Any:
        """Results are those of networkx already."""
        return value

    @staticmethod
    def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Returns True, or why a function does not do what these arguments ask for."""
        return _arguments(name, *args, **kwargs)

    @staticmethod
    def should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Returns True, or why networkx is faster. networkx calls it only if the call does not name the backend."""
        graph = args[0] if args else kwargs["G"]
        # Nodes are counted first, because networkx counts edges node by node.
        is_large = len(graph) >= _FEW or graph.number_of_edges() >= _FEW
        return True if is_large else f"networkx is faster for fewer than {_FEW} edges"

    @staticmethod
    def triangles(G: BackendGraph, nodes: Any = None) -> Any:
        """Triangles of each node. ``networkx.triangles``."""
        if G.is_directed():
            raise nx.NetworkXNotImplemented("not implemented for directed type")
        found = G.graph(False).triangles().per_vertex
        return _chosen(G, nodes, found.tolist())

    @staticmethod
    def clustering(G: BackendGraph, nodes: Any = None, weight: Any = None) -> Any:
        """Clustering of each node. ``networkx.clustering``."""
        found = G.graph(False).triangles()
        # Whole zeros and the order of the division are networkx's.
        triangles, degree = found.per_vertex.tolist(), found.degree.tolist()
        values = [0 if t == 0 else 2 * t / (d * (d - 1)) for t, d in zip(triangles, degree)]
        return _chosen(G, nodes, values)

    @staticmethod
    def transitivity(G: BackendGraph) -> Any:
        """Share of the pairs of edges with a common end that are part of a triangle. ``networkx.transitivity``."""
        found = G.graph(False).triangles()
        return 0 if found.total == 0 else 3 * found.total / found.wedges

    @staticmethod
    def single_source_shortest_path_length(G: BackendGraph, source: Any, cutoff: Optional[float] = None) -> Any:
        """Edges from the source to each node that it reaches. ``networkx.single_source_shortest_path_length``."""
        if source not in G:
            raise nx.NodeNotFound(f"Source {source} is not in G")
        levels = G.graph(G.is_directed()).bfs(source).levels
        # A cutoff between two levels includes the next one, as in networkx.
        is_near = True if cutoff is None else levels - 1 < cutoff
        return _by_value(G, source, levels, (levels >= 0) & is_near)

    @staticmethod
    def single_source_dijkstra_path_length(
        G: BackendGraph, source: Any, cutoff: Optional[float] = None, weight: Any = "weight"
    ) -> Any:
        """Distances of the nodes that the source reaches. ``networkx.single_source_dijkstra_path_length``."""
        G.number(source)
        graph = G.graph(G.is_directed(), weight)
        # Without a name of weights, all are 1.
        paths = graph.sssp(source) if len(G._ends) and weight is not None else graph.bfs(source)
        distances = paths.distances if hasattr(paths, "distances") else paths.levels
        is_near = True if cutoff is None else distances <= cutoff
        return _by_value(G, source, distances, (paths.parents >= 0) & is_near)

    @staticmethod
    def strongly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
        """Sets of nodes that reach each other. ``networkx.strongly_connected_components``."""
        if not G.is_directed():
            raise nx.NetworkXNotImplemented("not implemented for undirected type")
        tree = G.graph(True).dfs(components=True)
        if tree.components is None:
            return
        sets: dict[int, set[Any]] = {}
        # In the order in which the search leaves them, a component comes after all that it leads to, as in networkx: its
        # first vertex is left last.
        components = tree.components.tolist()
        for row in np.argsort(-tree.postorder).tolist():
            # The search does not go to vertices without edges.
            component = row if components[row] < 0 else components[row]
            sets.setdefault(component, set()).add(G.nodes[row])
        yield from reversed(sets.values())


def _arguments(name: str, G: Any, *args: Any, **kwargs: Any) -> Any:
    if name == "clustering":
        weight = kwargs.get("weight", args[1] if len(args) > 1 else None)
        return "gpugraph's clustering has no weights" if weight is not None else _simple(G)
    if name == "transitivity" or name == "triangles" and G.is_multigraph():
        return _simple(G)
    if name == "single_source_dijkstra_path_length":
        weight = kwargs.get("weight", args[2] if len(args) > 2 else "weight")
        return "gpugraph takes no weights that are functions" if callable(weight) else True
    return name in _FUNCTIONS


def _chosen(G: BackendGraph, nodes: Any, values: list[Any]) -> Any:
    """Returns the values of all nodes, of one node, or of some, as networkx does."""
    if nodes is None:
        return dict(zip(G.nodes, values))
    if nodes in G:
        return values[G.number(nodes)]
    try:
        return {node: values[G.number(node)] for node in nodes if node in G}
    except TypeError as e:
        raise nx.NetworkXError(f"Node {nodes} is not in the graph.") from e


def _by_value(G: BackendGraph, source: Any, values: Any, is_chosen: Any) -> dict[Any, Any]:
    """Returns the values of the source and of chosen nodes, in ascending order."""
    # networkx includes the source whatever the cutoff is.
    is_chosen[G.number(source)] = True
    chosen = np.flatnonzero(is_chosen)
    chosen = chosen[np.argsort(values[chosen], kind="stable")]
    return {G.nodes[row]: value for row, value in zip(chosen.tolist(), values[chosen].tolist())}


@lru_cache(maxsize=None)
def info() -> dict[str, Any]:
    """Describes the backend to networkx."""
    return {
        "backend_name": "gpugraph",
        "project": "gpugraph",
        "package": "gpugraph",
        "short_summary": "Exact algorithms on CPUs and GPUs, on graphs larger than memory",
        "functions": {name: {} for name in _FUNCTIONS},
    }

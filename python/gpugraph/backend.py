"""A networkx backend: ``nx.triangles(G, backend="gpugraph")``, or ``NETWORKX_BACKEND_PRIORITY=gpugraph``.

Results equal those of networkx. Some cases are not supported: clustering with weights or direction, and weights that are
functions, negative, or not exact. networkx computes these itself.
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

#: networkx itself computes on graphs with fewer nodes and fewer edges than this. The table shows milliseconds for a graph of
#: 50,000 edges and a mean degree of 4. The first call converts the graph. (networkx 3.6, two cores, commit 18bfd315)
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
    """A networkx graph, converted to arrays of edges. A :class:`Graph` is built from them at the first call that needs it."""

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
        # networkx stores this object in its graph, so both are pickled together. A copy builds its native graphs again.
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
        """Returns the index of a source node."""
        if node not in self:
            raise nx.NodeNotFound(f"Node {node} not found in graph")
        return self._numbers[node]

    def graph(self, directed: bool, attribute: Any = None) -> Graph:
        """Returns the native graph, with weights from `attribute` unless it is None."""
        key = (directed, attribute)
        if key not in self._graphs:
            weights = None if attribute is None else _weights(self._weights[attribute])
            ends, labels = self._ends, object_array(self.nodes)
            edges = Edges(ends[:, 0], ends[:, 1], weights, len(self.nodes), labels, directed)
            self._graphs[key] = Graph._from_edges(edges)
        return self._graphs[key]


def _weights(values: list[Any]) -> np.ndarray[Any, Any]:
    """Returns weights as uint64 or float64. Refuses weights for which sums along a path would differ from those of networkx."""
    array, kinds = np.asarray(values), set(map(type, values))
    # networkx adds np.float32 values in float32. np.float64 is a subclass of float.
    if array.dtype.kind not in "iuf" or not all(issubclass(kind, (int, float, np.integer)) for kind in kinds):
        raise NotImplementedError("gpugraph takes weights that are integers or of float64")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise NotImplementedError("gpugraph takes finite weights of 0 or more")
    # Up to these limits sums are the same. Python's integers are unbounded, numpy's overflow, and float64 rounds integers.
    limits: list[float] = [np.iinfo(kind).max for kind in kinds if issubclass(kind, np.integer)]
    if array.dtype.kind != "f":
        limits.append((1 << 63) - 1)
    elif not all(issubclass(kind, float) for kind in kinds):
        limits.append((1 << 53) - 1)
    # Each edge is on a path at most once, so no sum along a path is larger.
    largest = float(np.sum(array, dtype=np.float64)) * (1 + 1e-9)
    if not np.isfinite(largest) or any(largest > limit for limit in limits):
        raise NotImplementedError("gpugraph takes weights whose sums neither overflow nor are rounded as integers")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.uint64)


def _simple(G: Any) -> Any:
    if G.is_directed():
        return "gpugraph computes it without direction"
    return "gpugraph counts repeated edges once" if G.is_multigraph() else True


class Backend:
    """The functions of the backend, with the names of networkx."""

    @staticmethod
    def convert_from_nx(
        graph: Any,
        *,
        edge_attrs: Optional[Mapping[Any, Any]] = None,
        **_: Any,
    ) -> BackendGraph:
        """Converts a graph. `edge_attrs` maps the edge attributes that a function reads to their defaults."""
        return BackendGraph(graph, edge_attrs or {})

    @staticmethod
    def convert_to_nx(value: Any, **_: Any) -> Any:
        """Returns `value`, because results already have the types of networkx."""
        return value

    @staticmethod
    def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Returns True, or the reason why the backend does not support these arguments."""
        return _arguments(name, *args, **kwargs)

    @staticmethod
    def should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Returns True, or the reason why networkx is faster. networkx calls this only if no backend was named."""
        graph = args[0] if args else kwargs["G"]
        # Checks nodes first, because networkx counts edges node by node.
        is_large = len(graph) >= _FEW or graph.number_of_edges() >= _FEW
        return True if is_large else f"networkx is faster for fewer than {_FEW} edges"

    @staticmethod
    def triangles(G: BackendGraph, nodes: Any = None) -> Any:
        """Number of triangles of each node. ``networkx.triangles``."""
        if G.is_directed():
            raise nx.NetworkXNotImplemented("not implemented for directed type")
        found = G.graph(False).triangles().per_vertex
        return _chosen(G, nodes, found.tolist())

    @staticmethod
    def clustering(G: BackendGraph, nodes: Any = None, weight: Any = None) -> Any:
        """Clustering coefficient of each node. ``networkx.clustering``."""
        found = G.graph(False).triangles()
        # As in networkx, zeros are integers, and the operations have the same order.
        triangles, degree = found.per_vertex.tolist(), found.degree.tolist()
        values = [0 if t == 0 else 2 * t / (d * (d - 1)) for t, d in zip(triangles, degree)]
        return _chosen(G, nodes, values)

    @staticmethod
    def transitivity(G: BackendGraph) -> Any:
        """Fraction of the pairs of edges with a common endpoint that are in a triangle. ``networkx.transitivity``."""
        found = G.graph(False).triangles()
        return 0 if found.total == 0 else 3 * found.total / found.wedges

    @staticmethod
    def single_source_shortest_path_length(G: BackendGraph, source: Any, cutoff: Optional[float] = None) -> Any:
        """Number of edges to each reachable node. ``networkx.single_source_shortest_path_length``."""
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
        """Distance of each reachable node. ``networkx.single_source_dijkstra_path_length``."""
        G.number(source)
        graph = G.graph(G.is_directed(), weight)
        # If `weight` is None, all weights are 1.
        paths = graph.sssp(source) if len(G._ends) and weight is not None else graph.bfs(source)
        distances = paths.distances if hasattr(paths, "distances") else paths.levels
        is_near = True if cutoff is None else distances <= cutoff
        return _by_value(G, source, distances, (paths.parents >= 0) & is_near)

    @staticmethod
    def strongly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
        """Sets of nodes that can reach each other. ``networkx.strongly_connected_components``."""
        if not G.is_directed():
            raise nx.NetworkXNotImplemented("not implemented for undirected type")
        tree = G.graph(True).dfs(components=True)
        if tree.components is None:
            return
        sets: dict[int, set[Any]] = {}
        # networkx yields a component after all components that it leads to. That is the postorder of the components' first
        # vertices, because the search finishes the first vertex of a component last.
        components = tree.components.tolist()
        for row in np.argsort(-tree.postorder).tolist():
            # The search does not visit vertices without edges; each is a component.
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
    """Returns the values of all nodes (None), of one node, or of several nodes, as networkx does."""
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

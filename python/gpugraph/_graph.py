"""Graphs, and the algorithms on them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Optional, Union

from . import _gpugraph
from ._context import Context, context_or_default
from ._options import index_of, whole, whole_or_none
from ._results import (
    BfsTree,
    Centralities,
    Communities,
    Comparisons,
    Components,
    Cores,
    DfsTree,
    DirectedClustering,
    Distances,
    EdgeSupports,
    PageRanks,
    Paths,
    Rows,
    SourceDistances,
    Triangles,
)
from ._sources import Edges, edges_of
from .errors import InputError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

PathLike = Union[str, "os.PathLike[str]"]


class Graph:
    """A graph that is built once and used by many calls.

    Self-loops are dropped. Of repeated edges, only one with the smallest weight remains. The graph is stored in files that
    are mapped to memory, so it may be larger than memory.

    Args:
        data: Where the edges come from:

            - The path of a file or folder, a pattern such as ``"edges/*.txt.gz"``, or a list of these. The format follows
              from the file name extension, unless ``format`` names it.
            - An array of shape (m, 2), or a pair of arrays of shape (m,), of dtype uint32, int32, uint64 or int64. They are
              not copied, and must not change while the graph is open. Shorter integers are widened, which copies them. A
              tuple of two is always such a pair: ``((0, 1), (2, 3))`` contains the edges (0, 2) and (1, 3).
            - A pandas.DataFrame or pyarrow.Table with a row for each edge. Ids that are not integers become labels, and
              are numbered in sorted order.
            - A square scipy.sparse matrix. Its stored elements are the edges, and their values the weights. If a COO matrix
              repeats an element, the smallest value is used, while scipy adds the values up.
            - A networkx graph. Nodes are labels, unless they are the numbers from 0 to n - 1.
        weights: ``"auto"``: the weights in ``data``, if any. ``"none"``: no weights. Or an array of shape (m,): uint32,
            uint64, float32 and float64 are not copied, and their type stays. For files also ``"u32"``, ``"u64"``,
            ``"f32"`` and ``"f64"``. ``"auto"`` reads decimals in files as float32, and ``"f64"`` as float64.
        directed: Whether edges have a direction, for algorithms that use it. By default a networkx graph determines it, and
            all other inputs are undirected, including scipy matrices.
        vertices: Number of vertices. Only for arrays; needed if ids without edges are vertices, too.
        columns: Columns of a table or a text file that contain the endpoints of edges, and optionally the weight. By
            default the first two columns, and the third as weight if it contains numbers. For a networkx graph, a list
            with the attribute that contains the weight; by default ``["weight"]``.
        format: Format of the files. ``gpugraph help input`` lists the formats.
        skip_lines: Number of lines to skip at the top of each text file, not counting comments and blank lines.
        first_id: 0 or 1: the id of the first vertex, for formats with 1-based ids.
        ids: ``"string"`` reads the ids in text, CSV or Parquet files as strings, such as names. They become labels.
        workdir: Folder in which the graph is stored, so that :meth:`open` can open it later. By default the graph is in
            the context's temporary folder, and is removed when it is closed. Labels of tables and networkx graphs are not
            stored: the vertices of the opened graph are their row numbers in :attr:`ids`.
        context: Limits and device for calls.

    Raises:
        gpugraph.errors.UsageError: Arguments exclude each other, an array has the wrong shape or dtype, or an id or a weight
            is negative.
        gpugraph.errors.InputError: A file can't be read.
        gpugraph.errors.LimitError: A limit is too small; the message names a limit that is enough.
        KeyboardInterrupt: Ctrl-C, within a second.
    """

    def __init__(
        self,
        data: Any,
        *,
        weights: Union[str, ArrayLike] = "auto",
        directed: Optional[bool] = None,
        vertices: Optional[int] = None,
        columns: Optional[Sequence[Any]] = None,
        format: Optional[str] = None,
        skip_lines: Optional[int] = None,
        first_id: Optional[int] = None,
        ids: str = "number",
        workdir: Optional[PathLike] = None,
        context: Optional[Context] = None,
    ) -> None:
        context = context_or_default(context)
        folder = None if workdir is None else os.fspath(workdir)
        if _is_path(data):
            if vertices is not None:
                raise UsageError("vertices are for edges in memory: files say how many vertices they have")
            if not isinstance(weights, str):
                raise UsageError('weights of a file: expected "auto", "none", "u32", "u64", "f32" or "f64", found an array')
            numbers = dict(skip_lines=whole_or_none("skip_lines", skip_lines, 32), first_id=whole_or_none("first_id", first_id, 32))
            options = dict(format=format, columns=columns, weights=weights, ids=ids, **numbers)
            paths: list[str] = [os.fspath(path) for path in (data if isinstance(data, list) else [data])]
            is_directed = False if directed is None else directed
            native = _gpugraph.Graph.from_files(context._opened(), paths, options, is_directed, folder)
            self._adopt(native, context, None)
            return
        strings = None if ids == "number" else ids
        for_files = [("format", format), ("skip_lines", skip_lines), ("first_id", first_id), ("ids", strings)]
        for name, value in for_files:
            if value is not None:
                raise UsageError(f"{name} is for files, found edges in memory: leave it out")
        edges = edges_of(data, columns, weights)
        edges.vertices = _vertices(edges, whole_or_none("vertices", vertices))
        edges.directed = edges.directed if directed is None else directed
        self._adopt(_of_edges(context, edges, folder), context, edges.labels)

    @classmethod
    def _from_edges(cls, edges: Edges, context: Optional[Context] = None) -> Graph:
        """Returns the graph of edges whose vertices are already numbered. For the networkx backend."""
        context = context_or_default(context)
        return cls._of(_of_edges(context, edges, None), context, edges.labels)

    @classmethod
    def open(cls, workdir: PathLike, *, context: Optional[Context] = None) -> Graph:
        """Opens a graph that a job with ``keep = true``, or a :class:`Graph` with a ``workdir``, stored in ``workdir``.

        Raises:
            gpugraph.errors.InputError: The folder contains no graph.
            gpugraph.errors.CorruptError: A file of the graph has changed.
            gpugraph.errors.BusyError: Another process is building the graph.
        """
        context = context_or_default(context)
        return cls._of(_gpugraph.Graph.open(context._opened(), os.fspath(workdir)), context, None)

    @classmethod
    def kronecker(
        cls,
        scale: int,
        edge_factor: float = 16,
        seed: int = 1,
        *,
        directed: bool = False,
        workdir: Optional[PathLike] = None,
        context: Optional[Context] = None,
    ) -> Graph:
        """Generates a Kronecker (R-MAT) graph of 2^scale vertices and edge_factor edges a vertex, as Graph500 does."""
        return cls._generated(False, (scale, edge_factor, seed), directed, workdir, context)

    @classmethod
    def uniform(
        cls,
        scale: int,
        edge_factor: float = 16,
        seed: int = 1,
        *,
        directed: bool = False,
        workdir: Optional[PathLike] = None,
        context: Optional[Context] = None,
    ) -> Graph:
        """Generates a graph of 2^scale vertices and edge_factor edges a vertex, with uniformly random endpoints."""
        return cls._generated(True, (scale, edge_factor, seed), directed, workdir, context)

    @classmethod
    def _generated(
        cls,
        uniform: bool,
        numbers: tuple[int, float, int],
        directed: bool,
        workdir: Optional[PathLike],
        context: Optional[Context],
    ) -> Graph:
        context = context_or_default(context)
        folder = None if workdir is None else os.fspath(workdir)
        scale, edge_factor, seed = numbers
        numbers = (whole("scale", scale, 32), edge_factor, whole("seed", seed))
        return cls._of(_gpugraph.Graph.generated(context._opened(), uniform, numbers, directed, folder), context, None)

    @classmethod
    def _of(cls, native: _gpugraph.Graph, context: Context, labels: Optional[NDArray[Any]]) -> Graph:
        graph = cls.__new__(cls)
        graph._adopt(native, context, labels)
        return graph

    def _adopt(self, native: _gpugraph.Graph, context: Context, labels: Optional[NDArray[Any]]) -> None:
        self._native: Optional[_gpugraph.Graph] = native
        figures = native.figures()
        vertices, self._edges, self._isolated, self._loops, self._duplicates, self._max_degree, before = figures
        self._vertices = vertices
        self._is_directed, self._is_weighted = native.is_directed(), native.is_weighted()
        self._rows = Rows(vertices + before, before, native.ids(), native.labels() if labels is None else labels)
        context._graphs.add(self)

    def _opened(self) -> _gpugraph.Graph:
        if self._native is None:
            raise UsageError("the graph is closed, or its context is: build it again")
        return self._native

    def close(self) -> None:
        """Closes the graph and removes its temporary files. Results stay valid."""
        self._native = None

    @property
    def closed(self) -> bool:
        """True after :meth:`close`, and after the context was closed."""
        return self._native is None

    @property
    def vertices(self) -> int:
        """Number of vertices: the declared number, or else the largest id + 1, or the number of ids if they are sparse."""
        return self._vertices

    @property
    def edges(self) -> int:
        """Number of edges, without self-loops and repeated edges."""
        return self._edges

    @property
    def isolated(self) -> int:
        """Number of vertices without edges to other vertices."""
        return self._isolated

    @property
    def self_loops(self) -> int:
        """Number of edges in the input that are self-loops."""
        return self._loops

    @property
    def duplicates(self) -> int:
        """Number of edges in the input that repeat other edges."""
        return self._duplicates

    @property
    def max_degree(self) -> int:
        """The largest degree; in a directed graph, the largest out-degree or in-degree."""
        return self._max_degree

    @property
    def directed(self) -> bool:
        """True if edges have a direction."""
        return self._is_directed

    @property
    def weighted(self) -> bool:
        """True if edges have weights."""
        return self._is_weighted

    @property
    def ids(self) -> NDArray[Any]:
        """The id or label of each vertex, in the order of result arrays: shape (n,), uint64, or object for labels.

        If ids are labels or sparse, row i of a result array belongs to the vertex ``ids[i]``. Otherwise row v belongs to the
        vertex with id v. Ids are sparse if the largest id exceeds 8 times the number of edges, and for edges in memory also
        2^20.
        """
        return self._rows.ids()

    def row(self, vertex: Any) -> int:
        """Returns the row of a vertex in result arrays.

        Raises:
            gpugraph.errors.InputError: The graph has no such vertex.
        """
        row = self._rows.find(vertex)
        if row is None:
            raise InputError(f"vertex {vertex!r}: expected one of the graph's {self._vertices} vertices; check the id")
        return row

    def _id(self, vertex: Any) -> int:
        """Returns the id of a vertex in the native graph: its row if the graph has labels."""
        if self._rows.has_labels:
            return self.row(vertex)
        number = index_of(vertex)
        if number is None:
            raise UsageError(f"source: expected the id of a vertex, a whole number, found {vertex!r}")
        return number if 0 <= number < 1 << 64 else self.row(vertex)

    def _ids(self, name: str, vertices: Iterable[Any]) -> list[int]:
        """Returns the ids of vertices in the native graph. Error messages begin with `name`."""
        if isinstance(vertices, dict):
            raise TypeError(f"{name}: expected vertices, found a dict, whose values would be ignored; pass a list of its keys")
        return [self._id(vertex) for vertex in vertices]

    def triangle_count(self) -> int:
        """Counts the triangles of the graph, ignoring the direction of edges. Faster than :meth:`triangles`.

        Raises:
            gpugraph.errors.LimitError: A limit is too small.
        """
        return self._opened().totals()[0]

    def triangles(self) -> Triangles:
        """Counts the triangles of each vertex, ignoring the direction of edges.

        Returns:
            For each vertex, arrays of shape (n,): triangles (uint64), degrees (uint32) and clustering coefficients
            (float64). Also totals for the graph.

        Raises:
            gpugraph.errors.LimitError: A limit is too small.
        """
        (total, wedges, transitivity, seconds), average, columns = self._opened().triangles()
        return Triangles(self._rows, total, wedges, transitivity, average, *columns, seconds)

    def directed_clustering(self) -> DirectedClustering:
        """Computes the directed clustering coefficient of each vertex, as LDBC Graphalytics defines it.

        In an undirected graph, each edge counts in both directions.

        Returns:
            For each vertex, arrays of shape (n,): links, which are directed edges between its neighbours (uint64), degrees
            (uint32) and clustering coefficients (float64). Also totals for the graph.

        Raises:
            gpugraph.errors.LimitError: A limit is too small.
        """
        (total, wedges, transitivity, seconds), average, columns = self._opened().directed_clustering()
        return DirectedClustering(self._rows, total, wedges, transitivity, average, *columns, seconds)

    def edge_supports(self) -> EdgeSupports:
        """Counts the triangles of each edge (its support).

        Returns:
            For each edge, arrays of shape (m,): both endpoints (int64) and the support (uint32). Also totals for the graph.

        Raises:
            gpugraph.errors.LimitError: A limit is too small.
        """
        (total, _, _, seconds), largest, columns = self._opened().edge_supports()
        return EdgeSupports(self._rows, total, largest, *columns, seconds)

    def triangle_comparisons(self) -> Comparisons:
        """Counts the comparisons of triangle counting by a plain merge of sorted rows, on CPUs.

        Returns:
            The counts with rows in the order of ids and in the order of degree, and their ratio.

        Raises:
            gpugraph.errors.LimitError: A limit is too small.
            gpugraph.errors.UsageError: The graph is directed; or it contains self-loops, and another job prepared it.
        """
        return Comparisons(*self._opened().triangle_comparisons())

    def bfs(
        self,
        source: Any,
        *,
        alpha: Optional[float] = None,
        beta: Optional[float] = None,
        validate: bool = False,
    ) -> BfsTree:
        """Searches breadth-first from a vertex.

        Args:
            source: The id or label of the vertex.
            alpha: The search switches to bottom-up steps when more than 1/``alpha`` of the remaining edges leave the frontier.
            beta: It switches back to top-down steps when the frontier contains less than 1/``beta`` of the vertices.
            validate: Checks the tree by the rules of Graph500.

        Returns:
            Parents (int64) and levels (int32) of shape (n,), -1 for vertices that are not reached.

        Raises:
            gpugraph.errors.InputError: The graph has no such vertex.
            gpugraph.errors.ValidationError: The tree did not pass its check.
        """
        numbers, (parents, levels) = self._opened().bfs(self._id(source), alpha, beta, validate)
        reached, depth, edges, seconds = numbers
        return BfsTree(self._rows, source, reached, depth, edges, parents, levels, seconds)

    def sssp(
        self,
        source: Any,
        *,
        method: str = "auto",
        weights: Union[str, tuple[int, int, int]] = "graph",
        validate: bool = False,
    ) -> Paths:
        """Finds shortest paths from a vertex to all others.

        Args:
            source: The id or label of the vertex.
            method: ``"auto"``, ``"moore"``, ``"delta-stepping"`` or ``"bellman-ford"``. All find the same paths.
            weights: ``"graph"``: the weights of the graph. ``"unit"``: each weight is 1. ``(least, most, seed)``: a random
                integer from ``least`` to ``most`` for each edge.
            validate: Checks distances and parents.

        Returns:
            Distances of shape (n,): uint64 for integer weights (2^64 - 1 if a vertex is not reached); otherwise float32 or
            float64, like the weights (inf if not reached). Weights are added up from the source on, as networkx does.
            Parents of shape (n,), int64, -1 if a vertex is not reached.

        Raises:
            gpugraph.errors.UsageError: The graph has no weights, and ``weights`` is ``"graph"``.
            gpugraph.errors.InputError: The graph has no such vertex.
        """
        if isinstance(weights, str) and weights not in ("graph", "unit"):
            raise UsageError(f'weights: expected "graph", "unit" or (least, most, seed), found {weights!r}')
        drawn = None if isinstance(weights, str) else _drawn(weights)
        numbers, columns = self._opened().sssp(self._id(source), method, drawn, weights == "unit", validate)
        reached, seconds = numbers
        return Paths(self._rows, source, reached, *columns, seconds)

    def dfs(
        self,
        source: Any = None,
        *,
        articulation: bool = False,
        components: bool = False,
        validate: bool = False,
    ) -> DfsTree:
        """Searches depth-first from a vertex, or through the whole graph.

        Args:
            source: The id or label of the vertex. If it is None, the search covers all vertices that have an edge.
            articulation: Finds articulation points and bridges of an undirected graph.
            components: Finds the strongly connected components of a directed graph.
            validate: Checks the tree.

        Returns:
            Parents, preorder, postorder and depths, int64 of shape (n,), -1 for vertices that are not reached.

        Raises:
            gpugraph.errors.UsageError: ``articulation`` for a directed graph, or ``components`` for an undirected one.
            gpugraph.errors.InputError: The graph has no such vertex.
        """
        number = None if source is None else self._id(source)
        numbers, columns, asked = self._opened().dfs(number, articulation, components, validate)
        reached, trees, max_depth, seconds = numbers
        return DfsTree(self._rows, source, reached, trees, max_depth, *columns, *asked, seconds)

    def components(self, *, strong: bool = False) -> Components:
        """Finds the weakly connected components, which ignore the direction of edges, or the strongly connected ones.

        Args:
            strong: Finds the strongly connected components: two vertices are in the same one if each has a path to the
                other. In an undirected graph these are the weakly connected components.

        Returns:
            For each vertex the first vertex of its component, int64 of shape (n,), and the sizes of the largest components.

        Raises:
            gpugraph.errors.LimitError: A limit is too small.
        """
        (number, largest, seconds), component = self._opened().components(strong)
        return Components(self._rows, number, largest, component, seconds)

    def cdlp(self, *, iterations: int = 10) -> Communities:
        """Finds communities by label propagation, as LDBC Graphalytics defines it.

        The label of a vertex is at first the vertex itself. In each iteration, all vertices take at the same time the most
        frequent label of their neighbours, or the smallest one if several are equally frequent. In a directed graph, both
        in-neighbours and out-neighbours count.

        Args:
            iterations: Maximum number of iterations. Fewer are computed if labels stop changing.

        Returns:
            The label of each vertex, int64 of shape (n,), and the sizes of the largest communities.

        Raises:
            gpugraph.errors.UsageError: ``iterations`` is 0.
            gpugraph.errors.LimitError: A limit is too small.
        """
        numbers, label = self._opened().cdlp(whole("iterations", iterations))
        iterations_done, changed, number, largest, seconds = numbers
        return Communities(self._rows, number, largest, iterations_done, changed, label, seconds)

    def cores(self) -> Cores:
        """Finds the core number of every vertex: the largest k such that the vertex is in a set of vertices that have k
        neighbours each in the set. The direction of edges is ignored.

        Returns:
            The core number and the peeling layer of each vertex, both int64 of shape (n,).

        Raises:
            gpugraph.errors.LimitError: A limit is too small.
        """
        (degeneracy, seconds), (core, layer) = self._opened().cores()
        return Cores(self._rows, degeneracy, core, layer, seconds)

    def betweenness(
        self,
        sources: Optional[Iterable[Any]] = None,
        *,
        roots: int = 4,
        seed: int = 1,
        normalise: str = "none",
    ) -> Centralities:
        """Computes betweenness centrality from some sources, by Brandes' algorithm.

        With all vertices as sources, ``normalise="pairs"`` gives the scores of ``networkx.betweenness_centrality``. Scores are
        bitwise equal for any number of threads.

        Args:
            sources: The ids or labels of the sources. If it is None, sources are drawn at random.
            roots: Number of sources to draw among the vertices that have an edge, from 1 to 65536.
            seed: The random seed for drawing them.
            normalise: ``"none"``: scores are the sums of the dependencies of all sources. ``"largest"``: the sums are divided
                by the largest sum. ``"pairs"``: they are divided by (n - 1)(n - 2).

        Returns:
            Scores of shape (n,), float64.

        Raises:
            gpugraph.errors.UsageError: An option is out of range.
            gpugraph.errors.InputError: The graph has no such vertex.
        """
        named = None if sources is None else self._ids("sources", sources)
        drawn = whole("roots", roots, 32), whole("seed", seed)
        numbers, scores = self._opened().betweenness(named, *drawn, normalise)
        used, pairs, depth, divisor, seconds = numbers
        return Centralities(self._rows, used, pairs, depth, divisor, scores, seconds)

    def distances(self, sources: Optional[Iterable[Any]] = None, *, roots: int = 64, seed: int = 1) -> Distances:
        """Sums distances from many sources: closeness, harmonic centrality and eccentricity of the sources, bounds on the
        diameter, and sums for every vertex.

        A pass searches from 64 sources at once. In a directed graph, the distances of a source are along its out-edges.
        networkx's closeness uses in-edges, so it has the same values in the reversed graph.

        Args:
            sources: The ids or labels of the sources. If it is None, sources are drawn at random.
            roots: Number of sources to draw among the vertices that have an edge, from 1 to 65536.
            seed: The random seed for drawing them.

        Returns:
            Statistics of each source. For each vertex, the number of sources that reach it, and the sum and maximum of the
            distances from them.

        Raises:
            gpugraph.errors.UsageError: An option is out of range.
            gpugraph.errors.InputError: The graph has no such vertex.
        """
        named = None if sources is None else self._ids("sources", sources)
        drawn = whole("roots", roots, 32), whole("seed", seed)
        (figures, pairs, diameter, seconds), columns = self._opened().distances(named, *drawn)
        labels = self._rows.labels() if self._rows.has_labels else None
        of_sources = [SourceDistances(of[0] if labels is None else labels[of[0]], *of[1:]) for of in figures]
        return Distances(self._rows, of_sources, pairs, *diameter, *columns, seconds)

    def pagerank(
        self,
        *,
        damping: float = 0.85,
        variant: str = "gap",
        tolerance: float = 1e-4,
        iterations: Optional[int] = None,
        personalised: Iterable[Any] = (),
    ) -> PageRanks:
        """Computes the PageRank of every vertex. The values are bitwise equal for any number of threads.

        With ``variant="graphalytics"`` and enough iterations, the values are those of ``networkx.pagerank(G, weight=None)``
        for a graph without self-loops and repeated edges, which gpugraph drops. Weights are ignored.

        Args:
            damping: The probability of following an edge instead of teleporting, from 0 to below 1.
            variant: ``"gap"`` drops the rank of vertices without out-edges, and stops when the changes of all values add up
                to less than ``tolerance``. ``"graphalytics"`` spreads this rank evenly, and runs all ``iterations``.
            tolerance: Only for ``"gap"``; above 0 and at most 1.
            iterations: Number of iterations. The default is at most 1000 for ``"gap"``, and exactly 10 for
                ``"graphalytics"``.
            personalised: The ids or labels of the vertices to which teleports lead, all with the same probability. If empty,
                teleports lead to all vertices.

        Returns:
            PageRank values of shape (n,), float64.

        Raises:
            gpugraph.errors.UsageError: An option is out of range.
            gpugraph.errors.InputError: The graph has no such vertex.
        """
        targets = self._ids("personalised", personalised)
        count = whole_or_none("iterations", iterations)
        numbers, ranks = self._opened().pagerank(damping, variant, tolerance, count, targets)
        iterations_done, change, converged, total, seconds = numbers
        return PageRanks(self._rows, iterations_done, change, converged, total, ranks, seconds)

    def __getstate__(self) -> NoReturn:
        raise TypeError("a graph can't be copied or pickled: build it again, or give it a workdir and open that")

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"<gpugraph.Graph of {self.vertices} vertices and {self.edges} {kind} edges>"


def _is_path(data: Any) -> bool:
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, list) and bool(data) and all(isinstance(path, (str, os.PathLike)) for path in data)


def _drawn(weights: Any) -> tuple[int, int, int]:
    if not isinstance(weights, tuple) or len(weights) != 3:
        raise UsageError(f'weights: expected "graph", "unit" or (least, most, seed), found {weights!r}')
    least, most, seed = weights
    return whole("weights", least, 32), whole("weights", most, 32), whole("seed", seed)


def _vertices(edges: Edges, asked: Optional[int]) -> Optional[int]:
    if asked is None or edges.vertices in (None, asked):
        return edges.vertices if asked is None else asked
    raise UsageError(f"vertices: expected {edges.vertices}, which the input has, found {asked}; leave it out")


def _of_edges(context: Context, edges: Edges, workdir: Optional[str]) -> _gpugraph.Graph:
    ends = (edges.sources, edges.targets, edges.weights)
    return _gpugraph.Graph.from_arrays(context._opened(), ends, edges.vertices, edges.directed, workdir)

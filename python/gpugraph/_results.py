"""Results: arrays with a row for each vertex, and the ids of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _gpugraph
from ._options import index_of
from ._sources import object_array

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray


class Rows:
    """The ids of the rows of result arrays: consecutive numbers from ``before`` on, the ids in ``sparse``, or labels.

    ``count`` is the number of rows. The first ``before`` rows belong to no vertex: 1 if ids are 1-based, otherwise 0.
    ``labels`` is an array, or the string ids of a native graph, which are converted to an array at first use.
    """

    def __init__(
        self,
        count: int,
        before: int = 0,
        sparse: Optional[NDArray[np.uint64]] = None,
        labels: Union[NDArray[Any], _gpugraph.Labels, None] = None,
    ) -> None:
        self.count, self.before, self.sparse = count, before, sparse
        self.has_labels = labels is not None
        self._labels = labels
        self._numbers: Optional[dict[Any, int]] = None

    def labels(self) -> NDArray[Any]:
        """Returns the label of each row, if there are labels."""
        if isinstance(self._labels, _gpugraph.Labels):
            self._labels = object_array(self._labels.all())
        assert self._labels is not None
        return self._labels

    def find(self, vertex: Any) -> Optional[int]:
        """Returns the row of an id or label; None if there is no such row."""
        if self.has_labels:
            return self._find_label(vertex)
        number = index_of(vertex)
        if number is None or not 0 <= number < 1 << 64:
            return None
        if self.sparse is None:
            return number if self.before <= number < self.count else None
        # NumPy compares uint64 with other integers as float64, which rounds both.
        row = int(self.sparse.searchsorted(np.uint64(number)))
        return row if row < len(self.sparse) and int(self.sparse[row]) == number else None

    def _find_label(self, label: Any) -> Optional[int]:
        try:
            if isinstance(self._labels, _gpugraph.Labels):
                return self._labels.find(label.encode("utf-8", "surrogateescape")) if isinstance(label, str) else None
            if self._numbers is None:
                self._numbers = {label: number for number, label in enumerate(self.labels().tolist())}
            return self._numbers.get(label)
        except (TypeError, UnicodeEncodeError):
            return None  # A list can't be hashed, and some strings can't be encoded.

    def ids(self) -> NDArray[Any]:
        """Returns the id or label of each row that belongs to a vertex."""
        if self.has_labels:
            return self.labels()
        if self.sparse is not None:
            return self.sparse
        return np.arange(self.before, max(self.count, self.before), dtype=np.uint64)

    def of(self, values: NDArray[Any], known: Optional[NDArray[np.bool_]] = None) -> NDArray[Any]:
        """Converts vertices in a result array to ids or labels.

        `known` is False where the value is -1, which means no vertex. Such an element is None among labels. Among ids it
        stays -1 if all ids fit int64, and otherwise it is masked.
        """
        if self.has_labels:
            found = np.full(len(values), None, dtype=object)
            chosen = slice(None) if known is None else known
            found[chosen] = self.labels()[values[chosen]]
            return found
        if self.sparse is None or not len(self.sparse) or self.sparse[-1] < np.uint64(1 << 63):
            return values
        ids = values.view(np.uint64)
        return ids if known is None else np.ma.MaskedArray(ids, ~known)

    def __getstate__(self) -> dict[str, Any]:
        if self.has_labels:
            self.labels()  # An array can be pickled; the extension's object can't.
        return self.__dict__


def is_reached(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Returns which values of levels, distances or preorder numbers are of vertices that a search reached."""
    if values.dtype.kind == "i":
        return values >= 0
    reached: NDArray[np.bool_] = values != (np.iinfo(np.uint64).max if values.dtype.kind == "u" else np.inf)
    return reached


def frame(ids: NDArray[Any], columns: dict[str, NDArray[Any]]) -> pd.DataFrame:
    """Returns a DataFrame whose index is `ids`. Masked elements of the columns are ``pd.NA``."""
    import pandas as pd

    table: dict[str, Any] = {
        name: pd.arrays.IntegerArray(values.data, np.ma.getmaskarray(values)) if np.ma.isMaskedArray(values) else values
        for name, values in columns.items()
    }
    return pd.DataFrame(table, index=pd.Index(ids, name="id"), copy=False)


@dataclass(frozen=True, eq=False)
class _Result:
    _rows: Rows = field(repr=False)

    #: Names of the arrays, and of their columns in tables.
    _names = {}  # type: dict[str, str]
    #: Names of the arrays whose values are vertices.
    _vertices = ()  # type: tuple[str, ...]

    @property
    def ids(self) -> NDArray[Any]:
        """The id of each vertex, or its label: an array with a row for each vertex, in the order of the other arrays.

        If ids are 1-based, the other arrays have an unused row 0, but this one does not.
        """
        return self._rows.ids()

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {}
        before, reached = self._rows.before, self._reached()
        known = None if reached is None else reached[before:]
        for attribute, name in self._names.items():
            values = getattr(self, attribute)
            if values is not None:
                columns[name] = self._rows.of(values[before:], known) if attribute in self._vertices else values[before:]
        return columns

    def _reached(self) -> Optional[NDArray[np.bool_]]:
        """Returns which rows belong to reached vertices; None if the result has a value for every vertex."""
        return None

    def to_pandas(self) -> pd.DataFrame:
        """Returns a DataFrame with a row for each vertex, whose index is :attr:`ids`.

        The parent of an unreached vertex is -1, or None if vertices have labels. If an id is 2^63 or more, the column of
        parents has pandas' dtype ``UInt64``, and the parent of an unreached vertex is ``pd.NA``.

        Raises:
            ImportError: pandas is not installed.
        """
        return frame(self.ids, self._columns())

    def to_arrow(self) -> pa.Table:
        """Returns a pyarrow.Table with a row for each vertex, whose first column is ``id``.

        The parent of an unreached vertex is -1, or null if vertices have labels or an id is 2^63 or more.

        Raises:
            ImportError: pyarrow is not installed.
        """
        import pyarrow as pa

        return pa.table({"id": self.ids, **self._columns()})

    def _of_rows(self, values: NDArray[Any], chosen: Optional[NDArray[np.bool_]] = None) -> dict[Any, Any]:
        values, ids = values[self._rows.before :], self.ids
        if chosen is not None:
            chosen = chosen[self._rows.before :]
            values, ids = values[chosen], ids[chosen]
        return dict(zip(ids.tolist(), values.tolist()))


@dataclass(frozen=True, eq=False)
class Triangles(_Result):
    """Triangles, degree and clustering coefficient of each vertex."""

    #: Number of triangles in the graph.
    total: int
    #: Number of pairs of edges with a common endpoint: the sum of d(d - 1)/2 over all degrees d.
    wedges: int
    #: Fraction of the wedges that are part of a triangle, from 0 to 1.
    transitivity: float
    #: Mean of :attr:`clustering` over all vertices with an edge.
    average_clustering: float
    #: Number of triangles that contain each vertex, uint64 of shape (n,).
    per_vertex: NDArray[np.uint64] = field(repr=False)
    #: Number of neighbours of each vertex, ignoring direction, uint32 of shape (n,).
    degree: NDArray[np.uint32] = field(repr=False)
    #: Fraction of the pairs of neighbours that are joined, float64 of shape (n,); 0 for fewer than two neighbours.
    clustering: NDArray[np.float64] = field(repr=False)
    #: Seconds that counting took.
    seconds: float

    _names = {"per_vertex": "triangles", "degree": "degree", "clustering": "clustering"}

    def to_dict(self) -> dict[Any, int]:
        """Returns the number of triangles of each vertex by its id, as ``networkx.triangles`` does."""
        return self._of_rows(self.per_vertex)


@dataclass(frozen=True, eq=False)
class DirectedClustering(_Result):
    """Links, degree and directed clustering coefficient of each vertex."""

    #: Number of triangles in the graph, ignoring direction.
    total: int
    #: Number of pairs of edges with a common endpoint, ignoring direction: the sum of d(d - 1)/2 over all degrees d.
    wedges: int
    #: Fraction of the wedges that are part of a triangle, from 0 to 1.
    transitivity: float
    #: Mean of :attr:`clustering` over all vertices with an edge.
    average_clustering: float
    #: Number of directed edges between the neighbours of each vertex, uint64 of shape (n,).
    links: NDArray[np.uint64] = field(repr=False)
    #: Number of neighbours of each vertex, ignoring direction, uint32 of shape (n,).
    degree: NDArray[np.uint32] = field(repr=False)
    #: Links divided by d(d - 1) for d neighbours, float64 of shape (n,); 0 for fewer than two neighbours.
    clustering: NDArray[np.float64] = field(repr=False)
    #: Seconds that counting took.
    seconds: float

    _names = {"links": "links", "degree": "degree", "clustering": "clustering"}

    def to_dict(self) -> dict[Any, float]:
        """Returns the clustering coefficient of each vertex by its id."""
        return self._of_rows(self.clustering)


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of a plain merge of the sorted rows of each edge, in two orders of the vertices."""

    #: Number of triangles in the graph.
    total: int
    #: Number of comparisons in the order of ids.
    input_order: int
    #: Number of comparisons in ascending order of degree.
    degree_order: int
    #: ``input_order`` divided by ``degree_order``; 0 if there are no comparisons.
    ratio: float
    #: Seconds that counting took.
    seconds: float


@dataclass(frozen=True, eq=False)
class EdgeSupports:
    """The support of each edge: the number of triangles that contain it."""

    _rows: Rows = field(repr=False)

    #: Number of triangles in the graph.
    total: int
    #: The largest support; 0 if there are no edges.
    largest: int
    #: The endpoint of each edge with the smaller id, int64 of shape (m,): its id, or its row if vertices have labels. Ids
    #: from 2^63 on appear negative; ``source.view("u8")`` shows them as they are.
    source: NDArray[np.int64] = field(repr=False)
    #: The endpoint of each edge with the larger id, int64 of shape (m,).
    target: NDArray[np.int64] = field(repr=False)
    #: Number of triangles that contain each edge, uint32 of shape (m,).
    support: NDArray[np.uint32] = field(repr=False)
    #: Seconds that counting took.
    seconds: float

    def _columns(self) -> dict[str, NDArray[Any]]:
        source, target = self._rows.of(self.source), self._rows.of(self.target)
        return {"source": source, "target": target, "support": self.support}

    def to_pandas(self) -> pd.DataFrame:
        """Returns a DataFrame with a row for each edge. Endpoints are ids, or labels if vertices have labels.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame(self._columns(), copy=False)

    def to_arrow(self) -> pa.Table:
        """Returns a pyarrow.Table with a row for each edge. Endpoints are ids, or labels if vertices have labels.

        Raises:
            ImportError: pyarrow is not installed.
        """
        import pyarrow as pa

        return pa.table(self._columns())


@dataclass(frozen=True, eq=False)
class BfsTree(_Result):
    """A breadth-first tree."""

    #: The id or label of the source.
    source: Any
    #: Number of vertices that the search reached, including the source.
    reached: int
    #: The largest level.
    depth: int
    #: Number of edges between reached vertices.
    edges: int
    #: The parent of each vertex, int64 of shape (n,): its id, or its row if vertices have labels. The source is its own
    #: parent. The parent of an unreached vertex is -1. Ids from 2^63 on appear negative; ``parents.view("u8")`` shows them
    #: as they are.
    parents: NDArray[np.int64] = field(repr=False)
    #: Number of edges from the source to each vertex, int32 of shape (n,); -1 if it is not reached.
    levels: NDArray[np.int32] = field(repr=False)
    #: Seconds that the search took.
    seconds: float

    _names = {"levels": "level", "parents": "parent"}
    _vertices = ("parents",)

    def to_dict(self) -> dict[Any, int]:
        """Returns the levels of reached vertices by id, as ``networkx.single_source_shortest_path_length`` does."""
        return self._of_rows(self.levels, self._reached())

    def _reached(self) -> NDArray[np.bool_]:
        return is_reached(self.levels)


@dataclass(frozen=True, eq=False)
class Paths(_Result):
    """Shortest paths from one source."""

    #: The id or label of the source.
    source: Any
    #: Number of vertices that the search reached, including the source.
    reached: int
    #: Distance of each vertex, shape (n,): uint64 if weights are integers (2^64 - 1 if it is not reached), otherwise
    #: float32 or float64, like the weights (inf if it is not reached).
    distances: NDArray[Any] = field(repr=False)
    #: The previous vertex on a shortest path to each vertex, in the form of :attr:`BfsTree.parents`.
    parents: NDArray[np.int64] = field(repr=False)
    #: Seconds that the search took.
    seconds: float

    _names = {"distances": "distance", "parents": "parent"}
    _vertices = ("parents",)

    def to_dict(self) -> dict[Any, Any]:
        """Returns the distances of reached vertices by id, as ``networkx.single_source_dijkstra_path_length`` does."""
        return self._of_rows(self.distances, self._reached())

    def _reached(self) -> NDArray[np.bool_]:
        # Parents do not tell, because the id 2^64 - 1 is also -1 there.
        return is_reached(self.distances)


@dataclass(frozen=True, eq=False)
class DfsTree(_Result):
    """A depth-first tree, or the trees of all vertices that have an edge.

    The search continues with the first unvisited neighbour in the order of descending degree, then of id. A search without
    a source does not reach vertices without edges.
    """

    #: The id or label of the source; None if the search covered the whole graph.
    source: Any
    #: Number of vertices that the search reached.
    reached: int
    #: Number of trees.
    trees: int
    #: The largest depth.
    max_depth: int
    #: The parent of each vertex, as in :attr:`BfsTree.parents`.
    parents: NDArray[np.int64] = field(repr=False)
    #: 0-based position of each vertex in the order in which the search reached them, int64 of shape (n,); -1 if unreached.
    preorder: NDArray[np.int64] = field(repr=False)
    #: 0-based position of each vertex in the order in which the search finished them, int64 of shape (n,); -1 if unreached.
    postorder: NDArray[np.int64] = field(repr=False)
    #: Number of tree edges between each vertex and its root, int64 of shape (n,); -1 if unreached.
    depths: NDArray[np.int64] = field(repr=False)
    #: 1 for articulation points, 0 for other vertices, -1 for unreached ones, int64 of shape (n,). None if not requested.
    articulation_points: Optional[NDArray[np.int64]] = field(repr=False)
    #: 1 for vertices whose edge from the parent is a bridge, 0 for other vertices, -1 for unreached ones, int64 of shape
    #: (n,). None if not requested.
    bridges: Optional[NDArray[np.int64]] = field(repr=False)
    #: The first vertex of each vertex's strongly connected component, -1 for unreached vertices, int64 of shape (n,). None
    #: if not requested.
    components: Optional[NDArray[np.int64]] = field(repr=False)
    #: Seconds that the search took.
    seconds: float

    _names = {
        "parents": "parent",
        "preorder": "preorder",
        "postorder": "postorder",
        "depths": "depth",
        "articulation_points": "articulation",
        "bridges": "bridge",
        "components": "component",
    }
    _vertices = ("parents", "components")

    def _reached(self) -> NDArray[np.bool_]:
        return is_reached(self.preorder)


@dataclass(frozen=True, eq=False)
class Components(_Result):
    """The weakly or strongly connected components of a graph."""

    #: Number of components. A vertex without edges is a component.
    number: int
    #: Numbers of vertices of the ten largest components, descending.
    largest: list[int]
    #: The first vertex in the component of each vertex, int64 of shape (n,): its id, or its row if vertices have labels.
    #: Ids from 2^63 on appear negative; ``component.view("u8")`` shows them as they are.
    component: NDArray[np.int64] = field(repr=False)
    #: Seconds that the computation took.
    seconds: float

    _names = {"component": "component"}
    _vertices = ("component",)

    def to_dict(self) -> dict[Any, Any]:
        """Returns the first vertex in the component of each vertex, by id or label."""
        return self._of_rows(self._rows.of(self.component))


@dataclass(frozen=True, eq=False)
class Communities(_Result):
    """The communities of a graph, found by label propagation."""

    #: Number of communities. A vertex without edges is a community.
    number: int
    #: Numbers of vertices of the ten largest communities, descending.
    largest: list[int]
    #: Number of iterations that were computed.
    iterations: int
    #: Number of vertices whose label changed in the last iteration.
    changed: int
    #: The community label of each vertex, int64 of shape (n,): the id of a vertex, or its row if vertices have labels. Ids
    #: from 2^63 on appear negative; ``label.view("u8")`` shows them as they are.
    label: NDArray[np.int64] = field(repr=False)
    #: Seconds that the computation took.
    seconds: float

    _names = {"label": "label"}
    _vertices = ("label",)

    def to_dict(self) -> dict[Any, Any]:
        """Returns the community of each vertex by id or label. A community is named by one of the vertices."""
        return self._of_rows(self._rows.of(self.label))


@dataclass(frozen=True, eq=False)
class Cores(_Result):
    """The core numbers of a graph."""

    #: The largest core number.
    degeneracy: int
    #: The core number of each vertex, int64 of shape (n,).
    core: NDArray[np.int64] = field(repr=False)
    #: The 1-based layer in which peeling removes each vertex, int64 of shape (n,). ``np.argsort(layer, kind="stable")``
    #: returns a degeneracy order: no vertex has more neighbours after it than its core number.
    layer: NDArray[np.int64] = field(repr=False)
    #: Seconds that the computation took.
    seconds: float

    _names = {"core": "core", "layer": "layer"}

    def to_dict(self) -> dict[Any, Any]:
        """Returns the core number of each vertex, by id or label."""
        return self._of_rows(self.core)


@dataclass(frozen=True, eq=False)
class Centralities(_Result):
    """Betweenness centrality of all vertices."""

    #: The sources, by their ids, or by their rows if vertices have labels.
    sources: list[int]
    #: Number of pairs of a source and another vertex that it reaches.
    pairs: int
    #: Largest distance from a source to a vertex.
    depth: int
    #: Number by which sums of dependencies were divided.
    divisor: float
    #: Score of each vertex, float64 of shape (n,).
    centrality: NDArray[np.float64] = field(repr=False)
    #: Seconds that the computation took.
    seconds: float

    _names = {"centrality": "centrality"}

    def to_dict(self) -> dict[Any, float]:
        """Returns the scores by id. :meth:`Graph.betweenness` explains when they equal those of networkx."""
        return self._of_rows(self.centrality)


@dataclass(frozen=True)
class SourceDistances:
    """Distances from one source along out-edges."""

    #: The source, by its id or label.
    source: Any
    #: Number of reached vertices, including the source.
    reached: int
    #: Sum of the distances to all reached vertices.
    total: int
    #: Largest distance to a reached vertex.
    eccentricity: int
    #: Sum of the reciprocals of the distances to all other reached vertices.
    harmonic: float
    #: Closeness as networkx defines it, but from distances along out-edges.
    closeness: float


@dataclass(frozen=True, eq=False)
class Distances(_Result):
    """Distances from many sources, summed for each source and for each vertex."""

    #: Statistics of each source, in the order of sources.
    of_sources: list[SourceDistances] = field(repr=False)
    #: Number of pairs of a source and another vertex that it reaches.
    pairs: int
    #: Largest distance from a source: a lower bound on the diameter.
    diameter_lower: int
    #: Upper bound on the distance between two vertices of the same component, for all components that contain a source.
    #: None if the graph is directed.
    diameter_upper: Optional[int]
    #: Number of vertices in these components. None if the graph is directed.
    diameter_vertices: Optional[int]
    #: Number of sources that reach each vertex, without the vertex itself, uint32 of shape (n,).
    sources: NDArray[np.uint32] = field(repr=False)
    #: Sum of the distances from these sources to each vertex, uint64 of shape (n,).
    total: NDArray[np.uint64] = field(repr=False)
    #: Largest distance from these sources to each vertex, uint32 of shape (n,).
    farthest: NDArray[np.uint32] = field(repr=False)
    #: Seconds that the computation took.
    seconds: float

    _names = {"sources": "sources", "total": "total", "farthest": "farthest"}

    def to_dict(self) -> dict[Any, float]:
        """Returns the closeness of each source by its id or label. For the reversed graph, ``networkx.closeness_centrality``
        returns the same values."""
        return {of.source: of.closeness for of in self.of_sources}


@dataclass(frozen=True, eq=False)
class PageRanks(_Result):
    """PageRank values of all vertices."""

    #: Number of iterations.
    iterations: int
    #: Sum of the absolute changes of all values in the last iteration.
    change: float
    #: Whether the last change is below the tolerance. Always True without a tolerance.
    converged: bool
    #: Sum of all values.
    total: float
    #: PageRank value of each vertex, float64 of shape (n,).
    ranks: NDArray[np.float64] = field(repr=False)
    #: Seconds that the computation took.
    seconds: float

    _names = {"ranks": "rank"}

    def to_dict(self) -> dict[Any, float]:
        """Returns the values by id. :meth:`Graph.pagerank` explains when they equal those of ``networkx.pagerank``."""
        return self._of_rows(self.ranks)


@dataclass(frozen=True, eq=False)
class Ranks(_Result):
    """The ranks of the elements of a linked list."""

    #: The first element; None if the list is empty.
    head: Optional[int]
    #: Sum of rank(i) * (i mod 1000003 + 1) over all elements, modulo 2^64.
    checksum: int
    #: Rank of each element, int64 of shape (n,).
    ranks: NDArray[np.int64] = field(repr=False)
    #: Seconds that ranking took.
    seconds: float

    _names = {"ranks": "rank"}

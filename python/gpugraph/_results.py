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
    """The ids of rows: numbers from ``before`` on, those in ``sparse``, or labels.

    ``count`` is the number of rows, and ``before`` of those at the top that are of no vertex: 1 if ids count from 1.
    ``labels`` are an array, or the strings that a graph keeps, which become an array when it is first asked for.
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
            return None  # A list can't be hashed, and some strings have no bytes.

    def ids(self) -> NDArray[Any]:
        """Returns the id or label of each row, without those of no vertex."""
        if self.has_labels:
            return self.labels()
        if self.sparse is not None:
            return self.sparse
        return np.arange(self.before, max(self.count, self.before), dtype=np.uint64)

    def of(self, values: NDArray[Any], known: Optional[NDArray[np.bool_]] = None) -> NDArray[Any]:
        """Returns the ids or labels of vertices.

        `known` is False where a value, -1, stands for no vertex. Such an element stays -1 if ids fit int64, and otherwise
        it is masked. Among labels it is None.
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
            self.labels()  # An array can be pickled, the extension's strings can't.
        return self.__dict__


@dataclass(frozen=True, eq=False)
class _Result:
    _rows: Rows = field(repr=False)

    #: Names of the arrays, and in tables the names of their columns.
    _names = {}  # type: dict[str, str]
    #: Those of the arrays that hold vertices.
    _vertices = ()  # type: tuple[str, ...]

    @property
    def ids(self) -> NDArray[Any]:
        """The id of each vertex, or its label: an array with a row for each vertex, in the order of the other arrays.

        If ids count from 1, the other arrays have an unused row 0, and this one has none.
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
        """Returns which rows are of vertices that a search reached; None if the result has a value for every vertex."""
        return None

    def to_pandas(self) -> pd.DataFrame:
        """Returns a DataFrame with a row for each vertex, whose index is :attr:`ids`.

        The parent of an unreached vertex is -1. Among labels it is None. If an id is 2^63 or more, the column of parents has
        pandas' dtype ``UInt64``, and that parent is ``pd.NA``.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas as pd

        columns = {
            name: pd.arrays.IntegerArray(values.data, np.ma.getmaskarray(values)) if np.ma.isMaskedArray(values) else values
            for name, values in self._columns().items()
        }
        return pd.DataFrame(columns, index=pd.Index(self.ids, name="id"), copy=False)

    def to_arrow(self) -> pa.Table:
        """Returns a pyarrow.Table with a row for each vertex, whose first column is ``id``.

        The parent of an unreached vertex is -1. It is null among labels, and if an id is 2^63 or more.

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
    """Triangles, degrees and clustering of each vertex."""

    #: Number of triangles of the graph.
    total: int
    #: Pairs of edges with a common end: the sum of d(d - 1)/2 over all degrees d.
    wedges: int
    #: Share of the wedges that are part of a triangle, from 0 to 1.
    transitivity: float
    #: Mean of :attr:`clustering` over all vertices with an edge.
    average_clustering: float
    #: Triangles that each vertex is in, uint64 of shape (n,).
    per_vertex: NDArray[np.uint64] = field(repr=False)
    #: Neighbours of each vertex without regard to direction, uint32 of shape (n,).
    degree: NDArray[np.uint32] = field(repr=False)
    #: Share of the pairs of neighbours that are joined, float64 of shape (n,); 0 for less than two neighbours.
    clustering: NDArray[np.float64] = field(repr=False)
    #: Seconds of the count alone.
    seconds: float

    _names = {"per_vertex": "triangles", "degree": "degree", "clustering": "clustering"}

    def to_dict(self) -> dict[Any, int]:
        """Returns the triangles of each vertex by its id, as ``networkx.triangles`` does."""
        return self._of_rows(self.per_vertex)


@dataclass(frozen=True, eq=False)
class DirectedClustering(_Result):
    """Links, degrees and clustering of each vertex, by the direction of edges."""

    #: Number of triangles of the graph without direction.
    total: int
    #: Pairs of edges with a common end, without direction: the sum of d(d - 1)/2 over all degrees d.
    wedges: int
    #: Share of the wedges that are part of a triangle, from 0 to 1.
    transitivity: float
    #: Mean of :attr:`clustering` over all vertices with an edge.
    average_clustering: float
    #: Directed edges between the neighbours of each vertex, uint64 of shape (n,).
    links: NDArray[np.uint64] = field(repr=False)
    #: Neighbours of each vertex without regard to direction, uint32 of shape (n,).
    degree: NDArray[np.uint32] = field(repr=False)
    #: Links divided by d(d - 1) for d neighbours, float64 of shape (n,); 0 for less than two neighbours.
    clustering: NDArray[np.float64] = field(repr=False)
    #: Seconds of the count alone.
    seconds: float

    _names = {"links": "links", "degree": "degree", "clustering": "clustering"}

    def to_dict(self) -> dict[Any, float]:
        """Returns the clustering of each vertex by its id."""
        return self._of_rows(self.clustering)


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of a plain merge of the sorted rows of each edge, in two orders of the vertices."""

    #: Number of triangles of the graph.
    total: int
    #: Comparisons in the order of ids.
    input_order: int
    #: Comparisons in ascending order of degree.
    degree_order: int
    #: Comparisons in the order of ids, divided by those in the order of degree; 0 if there are none.
    ratio: float
    #: Seconds of the count alone.
    seconds: float


@dataclass(frozen=True, eq=False)
class EdgeSupports:
    """The support of each edge: the number of triangles that it is in."""

    _rows: Rows = field(repr=False)

    #: Number of triangles of the graph.
    total: int
    #: The largest support; 0 without edges.
    largest: int
    #: The end of each edge with the smaller id, int64 of shape (m,): its id, or its row if there are labels. Ids from 2^63
    #: on are negative; ``source.view("u8")`` has them.
    source: NDArray[np.int64] = field(repr=False)
    #: The end of each edge with the larger id, int64 of shape (m,).
    target: NDArray[np.int64] = field(repr=False)
    #: Triangles that each edge is in, uint32 of shape (m,).
    support: NDArray[np.uint32] = field(repr=False)
    #: Seconds of the count alone.
    seconds: float

    def _columns(self) -> dict[str, NDArray[Any]]:
        source, target = self._rows.of(self.source), self._rows.of(self.target)
        return {"source": source, "target": target, "support": self.support}

    def to_pandas(self) -> pd.DataFrame:
        """Returns a DataFrame with a row for each edge, and with labels if there are some.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame(self._columns(), copy=False)

    def to_arrow(self) -> pa.Table:
        """Returns a pyarrow.Table with a row for each edge, and with labels if there are some.

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
    #: Vertices that the search reached, with the source.
    reached: int
    #: The largest level.
    depth: int
    #: Edges between reached vertices.
    edges: int
    #: The parent of each vertex, int64 of shape (n,): its id, or its row if there are labels. The source is its own
    #: parent, and that of a vertex that is not reached is -1. Ids from 2^63 on are negative; ``parents.view("u8")`` has
    #: them.
    parents: NDArray[np.int64] = field(repr=False)
    #: Edges from the source to each vertex, int32 of shape (n,); -1 if it is not reached.
    levels: NDArray[np.int32] = field(repr=False)
    #: Seconds of the search alone.
    seconds: float

    _names = {"levels": "level", "parents": "parent"}
    _vertices = ("parents",)

    def to_dict(self) -> dict[Any, int]:
        """Returns the levels of reached vertices by id, as ``networkx.single_source_shortest_path_length`` does."""
        return self._of_rows(self.levels, self._reached())

    def _reached(self) -> NDArray[np.bool_]:
        return self.levels >= 0


@dataclass(frozen=True, eq=False)
class Paths(_Result):
    """Shortest paths from one source."""

    #: The id or label of the source.
    source: Any
    #: Vertices that the search reached, with the source.
    reached: int
    #: Distance of each vertex, shape (n,): uint64 if weights are whole numbers (2^64 - 1 if it is not reached), or
    #: float32 or float64, as the weights (inf if it is not reached).
    distances: NDArray[Any] = field(repr=False)
    #: The vertex before each on a shortest path, as in :attr:`BfsTree.parents`.
    parents: NDArray[np.int64] = field(repr=False)
    #: Seconds of the search alone.
    seconds: float

    _names = {"distances": "distance", "parents": "parent"}
    _vertices = ("parents",)

    def to_dict(self) -> dict[Any, Any]:
        """Returns the distances of reached vertices by id, as ``networkx.single_source_dijkstra_path_length`` does."""
        return self._of_rows(self.distances, self._reached())

    def _reached(self) -> NDArray[np.bool_]:
        # Not by parents, because the id 2^64 - 1 is -1 there, too.
        is_whole = self.distances.dtype.kind == "u"
        reached: NDArray[np.bool_] = self.distances != (np.iinfo(np.uint64).max if is_whole else np.inf)
        return reached


@dataclass(frozen=True, eq=False)
class DfsTree(_Result):
    """A depth-first tree, or the trees of all vertices that have an edge.

    The search goes on with the first neighbour not yet visited, by falling degree, then id. Without a source it does not reach
    vertices without edges.
    """

    #: The id or label of the source; None if all vertices were searched.
    source: Any
    #: Vertices that the search reached.
    reached: int
    #: Number of trees.
    trees: int
    #: The largest depth.
    max_depth: int
    #: The parent of each vertex, as in :attr:`BfsTree.parents`.
    parents: NDArray[np.int64] = field(repr=False)
    #: Place of each vertex in the order in which the search reached them, int64 of shape (n,); -1 if it did not.
    preorder: NDArray[np.int64] = field(repr=False)
    #: Place of each vertex in the order in which the search left them, int64 of shape (n,); -1 if it did not.
    postorder: NDArray[np.int64] = field(repr=False)
    #: Edges between each vertex and its root, int64 of shape (n,); -1 if it is not reached.
    depths: NDArray[np.int64] = field(repr=False)
    #: 1 for each articulation point and 0 for other vertices, int64 of shape (n,), if it was asked for; -1 if a vertex is not
    #: reached.
    articulation_points: Optional[NDArray[np.int64]] = field(repr=False)
    #: 1 for each vertex whose edge from the parent is a bridge and 0 for other vertices, int64 of shape (n,), if it was asked
    #: for; -1 if a vertex is not reached.
    bridges: Optional[NDArray[np.int64]] = field(repr=False)
    #: First vertex of each vertex's strongly connected component, int64 of shape (n,), if it was asked for; -1 if it is not
    #: reached.
    components: Optional[NDArray[np.int64]] = field(repr=False)
    #: Seconds of the search alone.
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
        return self.preorder >= 0


@dataclass(frozen=True, eq=False)
class Components(_Result):
    """The weakly or strongly connected components of a graph."""

    #: Number of components. A vertex without edges is one.
    number: int
    #: Sizes of the largest ten, in vertices, descending.
    largest: list[int]
    #: The first vertex in the component of each vertex, int64 of shape (n,): its id, or its row if vertices have labels.
    #: Ids from 2^63 on are negative; ``component.view("u8")`` has them.
    component: NDArray[np.int64] = field(repr=False)
    #: Seconds of the computation alone.
    seconds: float

    _names = {"component": "component"}
    _vertices = ("component",)

    def to_dict(self) -> dict[Any, Any]:
        """Returns the first vertex in the component of each vertex, by id or label."""
        return self._of_rows(self._rows.of(self.component))


@dataclass(frozen=True, eq=False)
class Communities(_Result):
    """The communities of a graph by label propagation."""

    #: Number of communities. A vertex without edges is one.
    number: int
    #: Sizes of the largest ten, in vertices, descending.
    largest: list[int]
    #: Number of iterations that were computed.
    iterations: int
    #: Vertices whose label changed in the last iteration.
    changed: int
    #: The label of each vertex, int64 of shape (n,): the id of a vertex, or its row if vertices have labels. Ids from 2^63
    #: on are negative; ``label.view("u8")`` has them.
    label: NDArray[np.int64] = field(repr=False)
    #: Seconds of the computation alone.
    seconds: float

    _names = {"label": "label"}
    _vertices = ("label",)

    def to_dict(self) -> dict[Any, Any]:
        """Returns the label of each vertex, a vertex, by id or label."""
        return self._of_rows(self._rows.of(self.label))


@dataclass(frozen=True, eq=False)
class Cores(_Result):
    """The core numbers of a graph."""

    #: The largest core number.
    degeneracy: int
    #: The core number of each vertex, int64 of shape (n,).
    core: NDArray[np.int64] = field(repr=False)
    #: The layer in which peeling removes each vertex, from 1, int64 of shape (n,). ``np.argsort(layer, kind="stable")`` is
    #: a degeneracy order: no vertex has more neighbours after it than its core number.
    layer: NDArray[np.int64] = field(repr=False)
    #: Seconds of the computation alone.
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
    #: Seconds of the computation alone.
    seconds: float

    _names = {"centrality": "centrality"}

    def to_dict(self) -> dict[Any, float]:
        """Returns the scores by id. :meth:`Graph.betweenness` says when they are those of networkx."""
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
    #: Closeness as networkx defines it, of outgoing distances.
    closeness: float


@dataclass(frozen=True, eq=False)
class Distances(_Result):
    """Distances from many sources, summed up for each source and for each vertex."""

    #: Figures of each source, in the order of sources.
    of_sources: list[SourceDistances] = field(repr=False)
    #: Number of pairs of a source and another vertex that it reaches.
    pairs: int
    #: Largest distance from a source: a lower bound of the diameter.
    diameter_lower: int
    #: Upper bound of the distance between two vertices of one component, for all components that have a source. None if
    #: edges have direction.
    diameter_upper: Optional[int]
    #: Number of vertices of these components. None if edges have direction.
    diameter_vertices: Optional[int]
    #: Number of other vertices that are sources and reach each vertex, uint32 of shape (n,).
    sources: NDArray[np.uint32] = field(repr=False)
    #: Sum of the distances from these sources, uint64 of shape (n,).
    total: NDArray[np.uint64] = field(repr=False)
    #: Largest distance from one of these sources, uint32 of shape (n,).
    farthest: NDArray[np.uint32] = field(repr=False)
    #: Seconds of the computation alone.
    seconds: float

    _names = {"sources": "sources", "total": "total", "farthest": "farthest"}

    def to_dict(self) -> dict[Any, float]:
        """Returns the closeness of each source by its id or label, as ``networkx.closeness_centrality`` does for the reversed
        graph."""
        return {of.source: of.closeness for of in self.of_sources}


@dataclass(frozen=True, eq=False)
class PageRanks(_Result):
    """PageRank of all vertices."""

    #: Number of iterations.
    iterations: int
    #: Sum of the changes of all ranks in the last iteration.
    change: float
    #: Whether the last change is below the tolerance. Without a tolerance it always is.
    converged: bool
    #: Sum of all ranks.
    total: float
    #: Rank of each vertex, float64 of shape (n,).
    ranks: NDArray[np.float64] = field(repr=False)
    #: Seconds of the computation alone.
    seconds: float

    _names = {"ranks": "rank"}

    def to_dict(self) -> dict[Any, float]:
        """Returns the ranks by id. :meth:`Graph.pagerank` says when they are those of ``networkx.pagerank``."""
        return self._of_rows(self.ranks)


@dataclass(frozen=True, eq=False)
class Ranks(_Result):
    """The ranks of a list."""

    #: The first element; None if the list is empty.
    head: Optional[int]
    #: Sum of rank(i) * (i mod 1000003 + 1) over all elements, modulo 2^64.
    checksum: int
    #: Rank of each element, int64 of shape (n,).
    ranks: NDArray[np.int64] = field(repr=False)
    #: Seconds of ranking alone.
    seconds: float

    _names = {"ranks": "rank"}

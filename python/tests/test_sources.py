"""Every kind of input gives the graph of its edges, and a mistake an exception that says what was expected."""

from __future__ import annotations

import gc
import random
import weakref
from pathlib import Path
from typing import Any, Callable

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from conftest import levels

import gpugraph
from gpugraph._sources import numbered
from gpugraph.errors import InputError, UsageError

random.seed(3)
EDGES = [(random.randrange(60), random.randrange(60)) for _ in range(150)] + [(0, 59)]
WEIGHTS = [random.randrange(1, 1000) / 8 for _ in EDGES]
PAIRS = np.array(EDGES)


def simple() -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(60))
    for (u, v), weight in zip(EDGES, WEIGHTS):
        if u != v and weight < graph.get_edge_data(u, v, {"weight": float("inf")})["weight"]:
            graph.add_edge(u, v, weight=weight)
    return graph


def check(graph: gpugraph.Graph, weighted: bool = False, of: Callable[[int], Any] = lambda v: v) -> None:
    expected = simple()
    count = expected.number_of_edges()
    loops = sum(u == v for u, v in EDGES)
    assert (graph.vertices, graph.edges) == (60, count)
    assert graph.self_loops in (loops, 0)
    found = graph.triangles()
    assert found.to_dict() == {of(v): n for v, n in nx.triangles(expected).items()}
    assert found.total == graph.triangle_count() == sum(nx.triangles(expected).values()) // 3
    source = EDGES[0][0]
    assert graph.bfs(of(source)).to_dict() == {of(v): n for v, n in levels(EDGES, source).items()}
    assert graph.weighted == weighted
    if weighted:
        distances = nx.single_source_dijkstra_path_length(expected, source)
        assert graph.sssp(of(source), validate=True).to_dict() == {of(v): d for v, d in distances.items()}


@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.uint64, np.int64, np.int8, np.uint16, ">i4", ">u8"])
def test_arrays_of_every_dtype_and_layout(dtype: Any, context: gpugraph.Context) -> None:
    pairs = PAIRS.astype(dtype)
    check(gpugraph.Graph(pairs, context=context))
    # Column by column, every second row, turned round, and read-only.
    check(gpugraph.Graph(np.asfortranarray(pairs), context=context))
    wide = np.repeat(pairs, 2, axis=0)
    check(gpugraph.Graph(wide[::2], context=context))
    check(gpugraph.Graph(pairs[::-1, ::-1], context=context))
    pairs.flags.writeable = False
    check(gpugraph.Graph(pairs, context=context))
    ends = pairs[:, 0].copy(), pairs[:, 1].astype(np.int64)
    check(gpugraph.Graph(ends, context=context))


def test_unaligned_arrays(context: gpugraph.Context) -> None:
    records = np.zeros(len(EDGES), dtype=[("tag", "u1"), ("u", "<i8"), ("v", "<i4")])
    records["u"], records["v"] = PAIRS[:, 0], PAIRS[:, 1]
    check(gpugraph.Graph((records["u"], records["v"]), context=context))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.uint32, np.int64, np.uint64, np.uint8])
def test_weights_of_every_dtype(dtype: Any, context: gpugraph.Context) -> None:
    whole = np.array([int(8 * weight) % 200 + 1 for weight in WEIGHTS]).astype(dtype)
    graph = gpugraph.Graph(PAIRS, weights=whole, directed=True, context=context)
    expected = nx.DiGraph()
    for (u, v), weight in zip(EDGES, whole.tolist()):
        if not expected.has_edge(u, v) or weight < expected[u][v]["weight"]:
            expected.add_edge(u, v, weight=weight)
    paths = graph.sssp(0, validate=True)
    assert paths.to_dict() == nx.single_source_dijkstra_path_length(expected, 0)
    float_type = np.float64 if dtype == np.float64 else np.float32
    assert paths.distances.dtype == (float_type if np.dtype(dtype).kind == "f" else np.uint64)
    check(gpugraph.Graph(PAIRS, weights=np.array(WEIGHTS), context=context), weighted=True)


def test_distances_are_those_of_python(context: gpugraph.Context) -> None:
    random = np.random.default_rng(5)
    for weights in (
        random.random(len(EDGES)),
        random.choice([0.1, 0.2, 0.3, 1e-300, 1e17, 0.0], len(EDGES)),
        random.integers(1 << 33, 1 << 50, len(EDGES)),
        random.integers(1 << 33, 1 << 50, len(EDGES)).astype(np.uint64),
    ):
        expected = nx.DiGraph()
        for (u, v), weight in zip(EDGES, weights.tolist()):
            if not expected.has_edge(u, v) or weight < expected[u][v]["weight"]:
                expected.add_edge(u, v, weight=weight)
        paths = gpugraph.Graph(PAIRS, weights=weights, directed=True, context=context).sssp(0, validate=True)
        assert paths.to_dict() == nx.single_source_dijkstra_path_length(expected, 0)
        assert paths.distances.dtype == (np.float64 if weights.dtype == np.float64 else np.uint64)


def test_strings_in_files_are_labels(tmp_path: Path, context: gpugraph.Context) -> None:
    random = np.random.default_rng(6)
    names = [f"név {number}" for number in range(60)]
    weights = random.random(len(EDGES)).tolist()
    file = tmp_path / "roads.csv"
    lines = [f'"{names[u]}",{names[v]},{weight!r}\n' for (u, v), weight in zip(EDGES, weights)]
    file.write_text("from,to,length\n" + "".join(lines), encoding="utf-8")
    expected = nx.Graph()
    for (u, v), weight in zip(EDGES, weights):
        u, v = names[u], names[v]
        if not expected.has_edge(u, v) or weight < expected[u][v]["weight"]:
            expected.add_edge(u, v, weight=weight)
    with gpugraph.Context() as own:
        graph = gpugraph.Graph(file, ids="string", columns=["from", "to", "length"], weights="f64", context=own)
        start = names[EDGES[0][0]]
        assert graph.row(start) == sorted(expected).index(start)
        paths = graph.sssp(start, validate=True)
        triangles = graph.triangles()
        for absent in ("nobody", 3, None, "\ud800", []):
            with pytest.raises(gpugraph.errors.InputError):
                graph.bfs(absent)
    # Results know their labels after the graph is closed.
    assert paths.to_dict() == nx.single_source_dijkstra_path_length(expected, start)
    expected.remove_edges_from(nx.selfloop_edges(expected))
    assert triangles.to_dict() == nx.triangles(expected)
    assert sorted(paths.to_pandas().index) == sorted(expected)
    with pytest.raises(gpugraph.errors.UsageError):
        gpugraph.Graph(PAIRS, ids="string")
    with pytest.raises(gpugraph.errors.UsageError):
        gpugraph.Graph(file, ids="words")


def test_lists_files_matrices_and_tables(tmp_path: Path, context: gpugraph.Context) -> None:
    check(gpugraph.Graph(EDGES, context=context))
    file = tmp_path / "edges.txt"
    file.write_text("".join(f"{u} {v} {w}\n" for (u, v), w in zip(EDGES, WEIGHTS)))
    check(gpugraph.Graph(str(file), context=context), weighted=True)
    check(gpugraph.Graph([file], weights="none", context=context))
    matrix = nx.to_scipy_sparse_array(simple(), nodelist=range(60))
    for form in (matrix, matrix.tocsc(), matrix.tocoo(), sp.csr_matrix(matrix)):
        check(gpugraph.Graph(form, context=context), weighted=True)
    check(gpugraph.Graph(matrix != 0, context=context))
    frame = pd.DataFrame({"u": PAIRS[:, 0], "v": PAIRS[:, 1], "w": WEIGHTS, "name": "x"})
    for table in (frame, pa.Table.from_pandas(frame)):
        check(gpugraph.Graph(table, context=context), weighted=True)
        check(gpugraph.Graph(table, columns=["v", "u"], context=context))
        check(gpugraph.Graph(table, columns=["u", "v", "w"], context=context), weighted=True)
        check(gpugraph.Graph(table, weights="none", context=context))


def test_a_tuple_of_two_and_a_matrix_are_read_as_documented(context: gpugraph.Context) -> None:
    assert gpugraph.Graph(((0, 1), (2, 3)), context=context).components().to_dict() == {0: 0, 1: 1, 2: 0, 3: 1}
    assert gpugraph.Graph([(0, 1), (2, 3)], context=context).components().to_dict() == {0: 0, 1: 0, 2: 2, 3: 2}
    twice = sp.coo_array(([5, 3], ([0, 0], [1, 1])), shape=(2, 2))
    graph = gpugraph.Graph(twice, context=context)
    assert not graph.directed and graph.sssp(1).to_dict() == {1: 0, 0: 3}
    twice.sum_duplicates()
    assert gpugraph.Graph(twice, context=context).sssp(1).to_dict() == {1: 0, 0: 8}


def test_labels_of_tables_and_networkx(context: gpugraph.Context) -> None:
    def of(v: int) -> str:
        return f"v{v:02}"

    frame = pd.DataFrame({"u": [of(u) for u, _ in EDGES], "v": [of(v) for _, v in EDGES], "w": WEIGHTS})
    present = sorted({of(v) for edge in EDGES for v in edge})
    for table in (frame, pa.Table.from_pandas(frame), pa.RecordBatch.from_pandas(frame), frame.astype({"u": "category", "v": "object"})):
        graph = gpugraph.Graph(table, context=context)
        assert graph.ids.tolist() == present
        assert graph.triangles().to_pandas()["triangles"].to_dict() == {
            of(v): n for v, n in nx.triangles(simple()).items() if of(v) in present
        }
        assert graph.sssp(of(0)).to_dict() == {
            of(v): d for v, d in nx.single_source_dijkstra_path_length(simple(), 0).items()
        }
        tree = graph.bfs(of(0)).to_arrow().to_pydict()
        assert tree["parent"][tree["id"].index(of(0))] == of(0)
    check(gpugraph.Graph(simple(), context=context), weighted=True)
    check(gpugraph.Graph(nx.relabel_nodes(simple(), of), context=context), weighted=True, of=of)
    check(gpugraph.Graph(nx.relabel_nodes(simple(), lambda v: (v, str(v))), context=context), True, lambda v: (v, str(v)))
    # Numbers with gaps are labels, too; types that have no order keep that of the graph.
    check(gpugraph.Graph(nx.relabel_nodes(simple(), lambda v: 10 * v), context=context), True, lambda v: 10 * v)
    nodes = nx.Graph()
    nodes.add_nodes_from([9, 2, 6, "7"])
    assert gpugraph.Graph(nodes, context=context).ids.tolist() == [9, 2, 6, "7"]
    mixed = gpugraph.Graph(nx.Graph([("b", 1), (1, None.__class__), (None.__class__, "b")]), context=context)
    assert mixed.triangles().to_dict() == {"b": 1, 1: 1, None.__class__: 1}
    ways = gpugraph.Graph(nx.DiGraph([("a", "b"), ("c", "b")]), context=context)
    assert ways.directed and ways.bfs("a").to_dict() == {"a": 0, "b": 1}


def test_ids_that_are_sparse_and_ids_from_1(tmp_path: Path, context: gpugraph.Context) -> None:
    ids = [5, 1 << 40, (1 << 63) + 9]
    graph = gpugraph.Graph(np.array([[ids[0], ids[1]], [ids[2], ids[0]]], dtype=np.uint64), context=context)
    assert graph.ids.tolist() == ids and graph.row(ids[1]) == 1
    tree = graph.bfs(ids[1])
    assert tree.to_dict() == {ids[1]: 0, ids[0]: 1, ids[2]: 2}
    assert tree.to_pandas().loc[5].to_list() == [1, 1 << 40]
    with pytest.raises(InputError):
        graph.row(6)
    file = tmp_path / "edges.mtx"
    file.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n3 2\n")
    counted = gpugraph.Graph(file, first_id=1, context=context)
    assert counted.ids.tolist() == [1, 2, 3, 4] and counted.bfs(1).levels[3] == 2
    assert counted.triangles().to_pandas().index.to_list() == [1, 2, 3, 4]
    assert counted.bfs(1).to_dict() == {1: 0, 2: 1, 3: 2}
    zero = gpugraph.Graph(file, context=context)
    assert zero.ids.tolist() == [0, 1, 2, 3] and zero.bfs(0).levels.tolist() == [0, 1, 2, -1]


def test_large_ids_next_to_a_column_with_a_sign(context: gpugraph.Context) -> None:
    large = (1 << 63) + 5
    table = pd.DataFrame({"u": [large, 1], "v": [1, 2]})
    assert [str(dtype) for dtype in table.dtypes] == ["uint64", "int64"]
    for edges in (table, (table["v"], table["u"]), np.array([[large, 1], [1, 2]], dtype=">u8")):
        assert gpugraph.Graph(edges, context=context).components().to_dict() == {1: 1, 2: 1, large: 1}
    with pytest.raises(UsageError, match="edge 1 in memory: .* found -2"):
        gpugraph.Graph((table["u"], np.array([1, -2])), context=context)


def test_whole_numbers_in_lists_are_exact(context: gpugraph.Context) -> None:
    large = 1 << 63
    assert gpugraph.Graph([(0, 1), (1, large)], context=context).ids.tolist() == [0, 1, large]
    assert gpugraph.Graph(([0, 1], [1, large]), context=context).ids.tolist() == [0, 1, large]
    for weights in ([1, large], [1, large + 1], [np.int64(1), np.uint64((1 << 60) + 1)]):
        graph = nx.path_graph(3)
        nx.set_edge_attributes(graph, dict(zip(graph.edges, weights)), "weight")
        for found in (gpugraph.Graph(graph, context=context), gpugraph.Graph([(0, 1), (1, 2)], weights=weights, context=context)):
            assert found.sssp(0).to_dict() == {0: 0, 1: 1, 2: 1 + int(weights[1])}


def test_masked_elements_are_no_values(context: gpugraph.Context) -> None:
    masked = np.ma.masked_equal(PAIRS, 59)
    for call in (
        lambda: gpugraph.Graph(masked, context=context),
        lambda: gpugraph.Graph((masked[:, 0], masked[:, 1]), context=context),
        lambda: gpugraph.Graph(PAIRS, weights=masked[:, 1], context=context),
    ):
        with pytest.raises(UsageError, match="without masked elements"):
            call()
    check(gpugraph.Graph(np.ma.masked_equal(PAIRS, 60), context=context))


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("of", [pd.to_datetime, pd.to_timedelta])
def test_labels_are_the_times_of_the_table(unit: str, of: Callable[[Any], Any], context: gpugraph.Context) -> None:
    times = of(np.array([3, 1, 2]) * 10**9).as_unit(unit)
    frame = pd.DataFrame({"u": times[:2], "v": times[1:]})
    graph = gpugraph.Graph(frame, context=context)
    assert graph.ids.tolist() == sorted(times) and type(graph.ids[0]) is type(times[0])
    arrow = pa.Table.from_pandas(frame)
    assert gpugraph.Graph(arrow, context=context).ids.tolist() == sorted({*arrow["u"].to_pylist(), *arrow["v"].to_pylist()})
    frame.loc[1, "v"] = pd.NaT
    with pytest.raises(UsageError, match="edge 1: .* missing"):
        gpugraph.Graph(frame, context=context)


def test_numbers_next_to_text_stay_numbers() -> None:
    edges = numbered(np.array([1, 2]), np.array(["1", "x"]))
    assert edges.labels is not None and edges.labels.tolist() == [1, 2, "1", "x"]


def test_graphs_without_edges(context: gpugraph.Context) -> None:
    for nothing in ([], ([], []), np.empty((0, 2), dtype=np.int32), nx.Graph()):
        graph = gpugraph.Graph(nothing, context=context)
        assert (graph.vertices, graph.edges) == (0, 0)
        assert graph.triangles().to_dict() == {} and len(graph.triangles().to_pandas()) == 0
    graph = gpugraph.Graph([], vertices=3, context=context)
    assert graph.triangles().per_vertex.tolist() == [0, 0, 0] and graph.bfs(1).to_dict() == {1: 0}


@pytest.mark.parametrize(
    "data, options, said",
    [
        (np.zeros((3, 3), np.int64), {}, ["(m, 2)", "(3, 3)"]),
        (np.zeros(6, np.int64), {}, ["(m, 2)", "(6,)"]),
        (np.zeros((3, 2)), {}, ["int64", "float64"]),
        (np.zeros((3, 2), bool), {}, ["int64", "bool"]),
        ((np.zeros(3, np.int64), np.zeros(4, np.int64)), {}, ["3 sources", "4 targets"]),
        (object(), {}, ["networkx", "object"]),
        (np.array([[0, 1], [2, 3], [4, -5]], np.int64), {}, ["edge 2", "-5"]),
        ((np.array([0, -7], np.int32), np.array([1, 1], np.uint32)), {}, ["edge 1", "-7"]),
        (PAIRS, {"vertices": 20}, ["20", "59"]),
        (PAIRS, {"weights": np.ones(3)}, [f"({len(EDGES)},)", "(3,)"]),
        (PAIRS, {"weights": np.full(len(EDGES), -1)}, ["weight 0", "-1"]),
        (PAIRS, {"weights": np.full(len(EDGES), -1.0)}, ["edge 0", "-1"]),
        (PAIRS, {"weights": np.full(len(EDGES), np.nan)}, ["edge 0", "NaN"]),
        (PAIRS, {"weights": np.full(len(EDGES), "a")}, ["float64", "<U1"]),
        ([(0, 1), (1, 2)], {"weights": [0.5, (1 << 53) + 1]}, ["weight 1", "float64", str((1 << 53) + 1)]),
        ([(0, 1), (1, 2)], {"weights": [-1, 1 << 63]}, ["edge 0", "-1"]),
        ([(0, -1), (1, 1 << 63)], {}, ["int64", "float64"]),
        (PAIRS, {"weights": "u32"}, ["u32"]),
        (PAIRS, {"format": "text"}, ["format", "files"]),
        (PAIRS, {"columns": ["a", "b"]}, ["columns"]),
        (pd.DataFrame({"a": ["x", None], "b": ["y", "z"]}), {}, ["edge 1", "missing"]),
        (pd.DataFrame({"a": [1.5], "b": [2]}), {}, ["float64"]),
        (pd.DataFrame({"a": [1], "b": [2]}), {"columns": ["a", "c"]}, ["'c'", "'a', 'b'"]),
        (sp.csr_array(np.ones((2, 3))), {}, ["square", "(2, 3)"]),
        ("edges.txt", {"vertices": 3}, ["vertices"]),
        ("edges.unknown", {"weights": "f99"}, ["f99"]),
    ],
)
def test_mistakes_are_named(data: Any, options: Any, said: list[str], context: gpugraph.Context) -> None:
    with pytest.raises(UsageError) as raised:
        gpugraph.Graph(data, context=context, **options)
    assert isinstance(raised.value, ValueError) and raised.value.exit_code == 2
    assert all(words in str(raised.value) for words in said), raised.value


def test_unreadable_files_and_unknown_vertices_are_errors_of_input(context: gpugraph.Context) -> None:
    with pytest.raises(InputError, match=r"gone\.txt.*No such file"):
        gpugraph.Graph("gone.txt", context=context)
    graph = gpugraph.Graph([(0, 1)], context=context)
    for vertex in (2, -1, 1 << 70):
        with pytest.raises(InputError):
            graph.bfs(vertex)
    for vertex in ("a", 1.0, True, None):
        with pytest.raises((UsageError, TypeError)):
            graph.bfs(vertex)
    with pytest.raises(UsageError, match="reads weights"):
        graph.sssp(0)
    labelled = gpugraph.Graph(pd.DataFrame({"a": ["x"], "b": ["y"]}), context=context)
    with pytest.raises(InputError, match="'z'"):
        labelled.bfs("z")


def test_arrays_are_not_copied_and_are_kept(context: gpugraph.Context) -> None:
    class Kept(np.ndarray):
        pass

    array = Kept(PAIRS.shape, PAIRS.dtype)
    array[:] = PAIRS
    kept = weakref.ref(array)
    graph = gpugraph.Graph(array, context=context)
    del array
    gc.collect()
    assert kept() is not None
    check(graph)
    graph.close()
    gc.collect()
    assert kept() is None


def test_results_are_lent_without_a_copy(context: gpugraph.Context) -> None:
    graph = gpugraph.Graph(PAIRS, context=context)
    found = graph.triangles()
    expected = found.per_vertex.copy()
    for array in (found.per_vertex, found.degree, found.clustering):
        assert not array.flags.owndata and not array.flags.writeable
        with pytest.raises(ValueError):
            array.flags.writeable = True
    frame = found.to_pandas()
    assert np.shares_memory(frame["triangles"].to_numpy(), found.per_vertex)
    # They outlive what they came from, and other calls.
    per_vertex = found.per_vertex
    graph.bfs(0)
    graph.triangles()
    del found, frame
    graph.close()
    context.close()
    gc.collect()
    assert (per_vertex == expected).all()

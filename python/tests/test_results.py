"""Results: ids as large as they get, pickles and comparisons."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, Callable

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import gpugraph
from gpugraph.errors import InputError

LARGE = 1 << 63


@pytest.fixture
def large(context: gpugraph.Context) -> gpugraph.Graph:
    """A path whose ids do not all fit int64, and another edge."""
    edges = np.array([[1, LARGE + 2], [LARGE + 2, LARGE + 5], [3, 4]], dtype=np.uint64)
    return gpugraph.Graph(edges, weights=np.array([2, 2, 1], dtype=np.uint32), context=context)


def test_vertices_with_large_parents_are_reached(large: gpugraph.Graph) -> None:
    assert large.bfs(1).to_dict() == {1: 0, LARGE + 2: 1, LARGE + 5: 2}
    assert large.sssp(1).to_dict() == {1: 0, LARGE + 2: 2, LARGE + 5: 4}


def test_distances_and_not_parents_say_what_is_reached(tmp_path: Path, context: gpugraph.Context) -> None:
    largest = (1 << 64) - 1
    file = tmp_path / "edges.txt"
    file.write_text(f"1 {largest} 0.5\n{largest} 5 0.5\n7 8 1\n")
    paths = gpugraph.Graph(file, context=context).sssp(1)
    assert paths.to_dict() == {1: 0, 5: 1, largest: 0.5}
    assert paths.to_arrow()["parent"].to_pylist() == [1, largest, None, None, 1]


def test_large_ids_in_tables_are_not_negative(large: gpugraph.Graph) -> None:
    assert large.components().to_dict() == {1: 1, 3: 3, 4: 3, LARGE + 2: 1, LARGE + 5: 1}
    assert large.cdlp(iterations=1).to_dict() == {1: LARGE + 2, 3: 4, 4: 3, LARGE + 2: 1, LARGE + 5: LARGE + 2}
    edges = large.edge_supports()
    ends = {(1, LARGE + 2), (3, 4), (LARGE + 2, LARGE + 5)}
    assert set(edges.to_pandas()[["source", "target"]].itertuples(index=False, name=None)) == ends
    assert set(zip(edges.to_arrow()["source"].to_pylist(), edges.to_arrow()["target"].to_pylist())) == ends
    for tree in (large.bfs(1), large.sssp(1), large.dfs(1)):
        assert tree.to_arrow()["parent"].to_pylist() == [1, None, None, 1, LARGE + 2]
        parents = tree.to_pandas()["parent"]
        assert parents.dtype == pd.UInt64Dtype()
        assert parents.dropna().to_dict() == {1: 1, LARGE + 2: 1, LARGE + 5: LARGE + 2}


def test_missing_parents_of_smaller_ids_are_negative(context: gpugraph.Context) -> None:
    for last in (3, LARGE - 1):
        tree = gpugraph.Graph(np.array([[0, 1], [2, last]]), context=context).bfs(0).to_pandas()["parent"]
        assert tree.dtype == np.int64 and tree.to_list() == [0, 0, -1, -1]


def test_rows_of_ids_that_float64_rounds(context: gpugraph.Context) -> None:
    first = 1 << 53
    graph = gpugraph.Graph([(first + 1, first + 3), (first + 3, first + 5)], context=context)
    assert [graph.row(id) for id in (first + 1, np.int64(first + 3), np.uint64(first + 5))] == [0, 1, 2]
    for absent in (first, first + 2, float(first + 3), -1, 1 << 64):
        with pytest.raises(InputError):
            graph.row(absent)


@pytest.mark.parametrize("edges", [[(0, 1), (1, 2)], [(0, 1 << 40), (1 << 40, 1 << 50)], nx.Graph([("a", "b"), ("b", 7)])], ids=str)
def test_what_is_no_id_is_an_error_of_input(edges: Any, context: gpugraph.Context) -> None:
    graph = gpugraph.Graph(edges, context=context)
    for absent in (1.9, float("nan"), "1", "\ud800", None, True, [0], np.array([0, 1])):
        with pytest.raises(InputError):
            graph.row(absent)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
def test_results_are_pickled_and_copied(copied: Callable[[Any], Any], tmp_path: Path, context: gpugraph.Context) -> None:
    file = tmp_path / "names.csv"
    file.write_text("al,bo\nbo,ca\n")
    for graph in (gpugraph.Graph(file, ids="string", context=context), gpugraph.Graph([(0, 1), (1, 2)], context=context)):
        edges = graph.edge_supports()
        # A copy before the strings of the file have become an array.
        assert copied(edges).to_pandas().equals(edges.to_pandas())
        tree = graph.bfs(graph.ids[0])
        assert copied(tree).to_dict() == tree.to_dict()


def test_results_are_equal_to_themselves_alone(context: gpugraph.Context) -> None:
    graph = gpugraph.Graph([(0, 1), (1, 2)], context=context)
    tree = graph.bfs(0)
    assert tree == tree and tree != graph.bfs(0) and tree != graph.triangles()
    assert len({tree, tree, graph.edge_supports(), gpugraph.listrank([1, -1])}) == 3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_graphs_and_contexts_have_no_copies(copied: Callable[[Any], Any], context: gpugraph.Context) -> None:
    # A copy would stay open when the context is closed.
    for original in (context, gpugraph.Graph([(0, 1)], context=context)):
        with pytest.raises(TypeError, match="can't be copied or pickled"):
            copied(original)


def test_rows_of_sparse_ids_are_those_of_ids(tmp_path: Path, context: gpugraph.Context) -> None:
    file = tmp_path / "edges.txt"
    for largest, sparse in ((16, False), (17, True)):
        file.write_text(f"0 1\n1 {largest}\n")
        levels = gpugraph.Graph(file, context=context).bfs(1).levels
        assert len(levels) == (3 if sparse else largest + 1)
    for largest, sparse in ((1 << 20, False), ((1 << 20) + 1, True)):
        graph = gpugraph.Graph([(0, 1), (1, largest)], context=context)
        assert len(graph.ids) == (3 if sparse else largest + 1)
        assert graph.bfs(1).levels[graph.row(largest)] == 1


def test_the_largest_degree_of_a_directed_graph_is_an_out_or_in_degree(context: gpugraph.Context) -> None:
    # Vertex 0 has two edges out and one in, vertex 2 the other way round.
    edges = [(0, 1), (0, 2), (1, 2), (3, 0), (2, 4)]
    assert gpugraph.Graph(edges, directed=True, context=context).max_degree == 2
    assert gpugraph.Graph(edges, context=context).max_degree == 3


def test_unreached_vertices_are_no_articulation_points(context: gpugraph.Context) -> None:
    graph = gpugraph.Graph([(0, 1), (1, 2)], vertices=4, context=context)
    tree = graph.dfs(articulation=True)
    assert tree.articulation_points is not None and tree.articulation_points.tolist() == [0, 1, 0, -1]
    assert tree.bridges is not None and tree.bridges[3] == -1
    assert graph.dfs(3).preorder.tolist() == [-1, -1, -1, 0]

"""The backend of networkx: the same results, really computed here, and networkx for what it does not do."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any, Callable

import networkx as nx
import numpy as np
import pytest

from gpugraph import backend
from gpugraph.backend import Backend, BackendGraph


def graphs() -> list[Any]:
    generator = random.Random(5)
    found = []
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        for edges in (0, 1, 30, 300):
            graph = kind()
            graph.add_nodes_from(["alone", (1, 2), 7])
            for _ in range(edges):
                u, v = generator.randrange(40), generator.randrange(40)
                graph.add_edge(u, str(v) if v % 3 else v, weight=generator.choice([1, 2, 0.5, 7.25]))
            found.append(graph)
    return found


@pytest.mark.parametrize("graph", graphs(), ids=str)
def test_results_are_those_of_networkx(graph: Any) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("single_source_shortest_path_length", {"source": "alone"}),
        ("single_source_dijkstra_path_length", {"source": "alone"}),
    ]
    for source in list(graph)[3:6]:
        calls += [
            ("single_source_shortest_path_length", {"source": source}),
            ("single_source_shortest_path_length", {"source": source, "cutoff": 2}),
            ("single_source_shortest_path_length", {"source": source, "cutoff": 1.5}),
            ("single_source_shortest_path_length", {"source": source, "cutoff": -1}),
            ("single_source_dijkstra_path_length", {"source": source}),
            ("single_source_dijkstra_path_length", {"source": source, "cutoff": 3.5}),
            ("single_source_dijkstra_path_length", {"source": source, "cutoff": -1}),
            ("single_source_dijkstra_path_length", {"source": source, "weight": None}),
            ("single_source_dijkstra_path_length", {"source": source, "weight": "none such"}),
        ]
    if not graph.is_directed() and not graph.is_multigraph():
        calls += [("transitivity", {})]
        for name in ("triangles", "clustering"):
            calls += [(name, {}), (name, {"nodes": "alone"}), (name, {"nodes": list(graph)[:4]})]
    for name, arguments in calls:
        function = getattr(nx, name)
        assert function(graph, backend="gpugraph", **arguments) == function(graph, backend="networkx", **arguments), name
    if graph.is_directed():
        found = list(nx.strongly_connected_components(graph, backend="gpugraph"))
        expected = list(nx.strongly_connected_components(graph, backend="networkx"))
        assert sorted(map(sorted_text, found)) == sorted(map(sorted_text, expected))


def sorted_text(nodes: set[Any]) -> list[str]:
    return sorted(map(repr, nodes))


@pytest.fixture
def prefers_small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """networkx asks the backend also for the small graphs of tests."""
    monkeypatch.setattr(backend, "_FEW", 0)


@pytest.mark.parametrize("few", [4, 5, 6])
def test_small_graphs_stay_with_networkx(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_FEW", few)
    for graph in (nx.star_graph(4), nx.complete_graph(3), nx.cycle_graph(5)):
        size = max(len(graph), graph.number_of_edges())
        with nx.config.backend_priority(algos=["gpugraph"]):
            nx.transitivity(graph)
            nx.triangles(G=graph)
        assert ("gpugraph" in graph.__networkx_cache__.get("backends", {})) == (size >= few)
        assert nx.triangles(graph, backend="gpugraph") == nx.triangles(graph, backend="networkx")


@pytest.mark.usefixtures("prefers_small_graphs")
def test_the_backend_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that hands all to networkx would pass every other test."""
    called = []
    for name in ("triangles", "single_source_dijkstra_path_length"):
        own = getattr(Backend, name)

        def counted(*arguments: Any, own: Any = own, name: str = name, **keys: Any) -> Any:
            called.append((name, type(arguments[0]) is BackendGraph))
            return own(*arguments, **keys)

        monkeypatch.setattr(Backend, name, staticmethod(counted))
    graph = nx.karate_club_graph()
    assert nx.triangles(graph, backend="gpugraph")[0] == 18
    with nx.config.backend_priority(algos=["gpugraph"]):
        found = nx.single_source_dijkstra_path_length(graph, 0)
    assert found == nx.single_source_dijkstra_path_length(graph, 0, backend="networkx")
    assert called == [("triangles", True), ("single_source_dijkstra_path_length", True)]


@pytest.mark.parametrize(
    "weights",
    [
        [1e308, 1e308],
        [-1, 2],
        [float("inf"), 1],
        [1 << 64, 1],
        [1 << 53, 0.5],
        ["a", 1],
        [float("nan"), 1],
        [True, None],
        [np.float32(0.1), np.float32(0.2)],
        [np.float32(0.1), 0.2],
        [np.int8(100), 100],
        [np.int64(1 << 62), np.int64(1 << 62)],
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.usefixtures("prefers_small_graphs")
def test_weights_whose_sums_may_differ_are_left_to_networkx(weights: list[Any]) -> None:
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=weights[0])
    graph.add_edge(1, 2, weight=weights[1])
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(graph, 0, backend="gpugraph")
    with nx.config.backend_priority(algos=["gpugraph"]):
        mine = outcome(lambda: nx.single_source_dijkstra_path_length(graph, 0))
        assert mine == outcome(lambda: nx.single_source_dijkstra_path_length(graph, 0, backend="networkx"))


@pytest.mark.parametrize(
    "weights",
    [
        [0.1, 0.2, 0.3],
        [1e308, 5e-324, -0.0],
        [np.float64(0.1), 0.7, 1],
        [1 << 40, (1 << 53) + 1, 3],
        [np.int32(100), np.int64(1 << 30), 7],
    ],
)
def test_sums_are_those_of_networkx(weights: list[Any]) -> None:
    graph = nx.path_graph(4)
    for u, weight in enumerate(weights):
        graph[u][u + 1]["weight"] = weight
    found = nx.single_source_dijkstra_path_length(graph, 0, backend="gpugraph")
    assert found == nx.single_source_dijkstra_path_length(graph, 0, backend="networkx")


@pytest.mark.parametrize("name", ["triangles", "clustering", "transitivity"])
@pytest.mark.usefixtures("prefers_small_graphs")
def test_multigraphs_are_left_to_networkx(name: str) -> None:
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0)])
    arguments = {} if name == "transitivity" else {"nodes": [0]}
    with nx.config.backend_priority(algos=["gpugraph"]):
        mine = outcome(lambda: getattr(nx, name)(graph, **arguments))
    assert mine == outcome(lambda: getattr(nx, name)(graph, backend="networkx", **arguments))


def outcome(call: Any) -> Any:
    try:
        # As text, because NaN is not equal to itself.
        return repr(call())
    except Exception as e:
        return type(e)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))])
@pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")
def test_a_graph_that_the_backend_has_seen_is_copied(copied: Callable[[Any], Any]) -> None:
    graph = nx.karate_club_graph()
    expected = nx.single_source_dijkstra_path_length(graph, 0, backend="gpugraph")
    nx.transitivity(graph, backend="gpugraph")
    assert nx.single_source_dijkstra_path_length(copied(graph), 0, backend="gpugraph") == expected


def test_what_it_does_not_compute_is_refused() -> None:
    graph = nx.karate_club_graph()
    for call in (
        lambda: nx.clustering(graph, weight="weight", backend="gpugraph"),
        lambda: nx.clustering(nx.DiGraph(graph), backend="gpugraph"),
        lambda: nx.transitivity(nx.DiGraph(graph), backend="gpugraph"),
        lambda: nx.single_source_dijkstra_path_length(graph, 0, weight=lambda u, v, data: 1, backend="gpugraph"),
    ):
        with pytest.raises(NotImplementedError):
            call()
    for name in ("single_source_shortest_path_length", "single_source_dijkstra_path_length"):
        with pytest.raises(nx.NodeNotFound):
            getattr(nx, name)(graph, "none", backend="gpugraph")

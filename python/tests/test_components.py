"""Components and communities: next to those of networkx and of a few lines of Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gpugraph
from gpugraph.errors import UsageError


@pytest.mark.parametrize("directed", [False, True])
def test_components_are_those_of_networkx(context: gpugraph.Context, directed: bool) -> None:
    of_networkx = nx.gnp_random_graph(400, 0.002, seed=5, directed=directed)
    known = nx.weakly_connected_components(of_networkx) if directed else nx.connected_components(of_networkx)
    known = {v: min(vertices) for vertices in known for v in vertices}
    found = gpugraph.Graph(of_networkx, context=context).components()
    assert found.component.dtype == np.int64
    assert found.to_dict() == known
    sizes = sorted(Counter(known.values()).values(), reverse=True)
    assert (found.number, found.largest) == (len(sizes), sizes[:10])


@pytest.mark.parametrize("directed", [False, True])
def test_strong_components_are_those_of_networkx(context: gpugraph.Context, directed: bool) -> None:
    of_networkx = nx.gnp_random_graph(400, 0.004, seed=5, directed=directed)
    known = nx.strongly_connected_components(of_networkx) if directed else nx.connected_components(of_networkx)
    known = {v: min(vertices) for vertices in known for v in vertices}
    found = gpugraph.Graph(of_networkx, context=context).components(strong=True)
    assert found.to_dict() == known
    sizes = sorted(Counter(known.values()).values(), reverse=True)
    assert (found.number, found.largest) == (len(sizes), sizes[:10])


def test_components_of_labels_are_labels(context: gpugraph.Context) -> None:
    of_networkx = nx.Graph([("c", "a"), ("b", "d"), ("d", "e")])
    graph = gpugraph.Graph(of_networkx, context=context)
    found = graph.components()
    first = {v: min(vertices, key=graph.row) for vertices in nx.connected_components(of_networkx) for v in vertices}
    assert found.to_dict() == first
    assert found.to_pandas()["component"].to_dict() == found.to_dict()


def spread(graph: Any, iterations: int) -> dict[int, int]:
    """Label propagation as Graphalytics defines it."""
    labels = {v: v for v in graph}
    for _ in range(iterations):
        votes = {v: Counter(labels[u] for u in graph.neighbors(v)) for v in graph}
        if graph.is_directed():
            for v in graph:
                votes[v].update(labels[u] for u in graph.predecessors(v))
        labels = {v: min(votes[v], key=lambda label: (-votes[v][label], label), default=labels[v]) for v in graph}
    return labels


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("iterations", [1, 2, 10])
def test_communities_are_those_of_the_definition(context: gpugraph.Context, directed: bool, iterations: int) -> None:
    of_networkx = nx.gnp_random_graph(300, 0.01, seed=11, directed=directed)
    found = gpugraph.Graph(of_networkx, context=context).cdlp(iterations=iterations)
    known = spread(of_networkx, iterations)
    assert found.to_dict() == known
    assert found.number == len(set(known.values()))


def test_no_iterations_are_refused(context: gpugraph.Context) -> None:
    with pytest.raises(UsageError):
        gpugraph.Graph(nx.path_graph(5), context=context).cdlp(iterations=0)

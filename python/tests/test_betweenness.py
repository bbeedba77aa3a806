"""Betweenness centrality, next to that of networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import gpugraph
from gpugraph.errors import InputError, UsageError


@pytest.mark.parametrize("directed", [False, True])
def test_scores_of_all_sources_are_those_of_networkx(context: gpugraph.Context, directed: bool) -> None:
    of_networkx = nx.gnp_random_graph(200, 0.02, seed=5, directed=directed)
    graph = gpugraph.Graph(of_networkx, context=context)
    found = graph.betweenness(list(of_networkx), normalise="pairs")
    assert found.centrality.dtype == np.float64
    assert found.to_dict() == pytest.approx(nx.betweenness_centrality(of_networkx), rel=1e-9, abs=1e-15)
    sums = graph.betweenness(list(of_networkx)).to_dict()
    known = nx.betweenness_centrality(of_networkx, normalized=False)
    assert sums == pytest.approx({v: score * (1 if directed else 2) for v, score in known.items()}, rel=1e-9)


@pytest.mark.parametrize("directed", [False, True])
def test_scores_of_some_sources_are_those_of_networkx(context: gpugraph.Context, directed: bool) -> None:
    of_networkx = nx.gnp_random_graph(300, 0.01, seed=3, directed=directed)
    graph = gpugraph.Graph(of_networkx, context=context)
    drawn = graph.betweenness(roots=5, seed=9)
    assert len(set(drawn.sources)) == 5
    known = nx.betweenness_centrality_subset(of_networkx, drawn.sources, list(of_networkx))
    factor = 1 if directed else 2
    assert drawn.to_dict() == pytest.approx({v: score * factor for v, score in known.items()}, rel=1e-9)
    assert graph.betweenness(drawn.sources).to_dict() == drawn.to_dict()
    largest = graph.betweenness(drawn.sources, normalise="largest")
    assert largest.centrality.max() == 1.0 and largest.divisor == drawn.centrality.max()


def test_scores_of_labels_have_labels(context: gpugraph.Context) -> None:
    found = gpugraph.Graph(nx.Graph([("a", "b"), ("b", "c")]), context=context).betweenness(["a"])
    assert found.to_dict() == {"a": 0.0, "b": 1.0, "c": 0.0}
    assert (found.pairs, found.depth) == (2, 2)


def test_wrong_options_are_refused(context: gpugraph.Context) -> None:
    graph = gpugraph.Graph(nx.path_graph(5), context=context)
    with pytest.raises(UsageError):
        graph.betweenness(roots=0)
    with pytest.raises(UsageError):
        graph.betweenness(normalise="most")
    with pytest.raises(UsageError):
        graph.betweenness([])
    with pytest.raises(InputError):
        graph.betweenness([99])

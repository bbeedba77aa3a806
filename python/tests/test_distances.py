"""Sums of distances, next to those of networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import gpugraph
from gpugraph.errors import InputError, UsageError


@pytest.mark.parametrize("directed", [False, True])
def test_figures_of_all_sources_are_those_of_networkx(context: gpugraph.Context, directed: bool) -> None:
    of_networkx = nx.gnp_random_graph(200, 0.015, seed=5, directed=directed)
    found = gpugraph.Graph(of_networkx, context=context).distances(list(of_networkx))
    outgoing = of_networkx.reverse() if directed else of_networkx
    assert found.to_dict() == nx.closeness_centrality(outgoing)
    harmonic = {of.source: of.harmonic for of in found.of_sources}
    assert harmonic == pytest.approx(nx.harmonic_centrality(outgoing), rel=1e-12)
    assert [found.sources.dtype, found.total.dtype, found.farthest.dtype] == [np.uint32, np.uint64, np.uint32]
    # Columns have incoming distances.
    sources, total = found.sources.astype(float), np.maximum(found.total, 1)
    closeness = dict(enumerate(sources / total * (sources / (len(of_networkx) - 1))))
    assert closeness == pytest.approx(nx.closeness_centrality(of_networkx), rel=1e-12)
    assert found.pairs == found.sources.sum() == sum(of.reached - 1 for of in found.of_sources)
    assert found.total.sum() == sum(of.total for of in found.of_sources)


def test_the_diameter_is_within_its_bounds(context: gpugraph.Context) -> None:
    of_networkx = nx.grid_2d_graph(20, 30)
    graph = gpugraph.Graph(nx.convert_node_labels_to_integers(of_networkx), context=context)
    known = nx.diameter(of_networkx)
    found = graph.distances(roots=70)
    assert found.diameter_vertices == 600 and len(found.of_sources) == 70
    assert found.diameter_upper is not None and found.diameter_lower <= known <= found.diameter_upper
    all_of_them = graph.distances(roots=600)
    assert all_of_them.diameter_lower == all_of_them.diameter_upper == known
    directed = gpugraph.Graph(nx.DiGraph([(0, 1), (1, 2)]), context=context).distances([0])
    assert (directed.diameter_lower, directed.diameter_upper, directed.diameter_vertices) == (2, None, None)


def test_figures_of_labels_have_labels(context: gpugraph.Context) -> None:
    found = gpugraph.Graph(nx.Graph([("a", "b"), ("b", "c")]), context=context).distances(["b", "a"])
    assert found.to_dict() == {"b": 1.0, "a": 2 / 3}
    assert found.to_pandas().loc["c"].to_list() == [2, 3, 2]


def test_wrong_options_are_refused(context: gpugraph.Context) -> None:
    graph = gpugraph.Graph(nx.path_graph(5), context=context)
    with pytest.raises(UsageError):
        graph.distances(roots=0)
    with pytest.raises(UsageError):
        graph.distances([])
    with pytest.raises(UsageError):
        graph.distances([1, 1])
    with pytest.raises(InputError):
        graph.distances([99])

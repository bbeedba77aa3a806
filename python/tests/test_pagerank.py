"""PageRank: ranks next to those of networkx, and options out of range."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import gpugraph
from gpugraph.errors import InputError, UsageError


@pytest.mark.parametrize("directed", [False, True])
def test_ranks_are_those_of_networkx(context: gpugraph.Context, directed: bool) -> None:
    of_networkx = nx.gnp_random_graph(300, 0.02, seed=3, directed=directed)
    # Vertices without an edge out, whose ranks are spread.
    of_networkx.add_edges_from((v, 300 + v) for v in range(20))
    graph = gpugraph.Graph(of_networkx, context=context)
    known = nx.pagerank(of_networkx, alpha=0.85, tol=1e-12, max_iter=500)
    found = graph.pagerank(variant="graphalytics", iterations=150)
    assert found.iterations == 150
    assert found.ranks.dtype == np.float64
    assert found.total == pytest.approx(1)
    ranks = found.to_dict()
    assert ranks.keys() == known.keys()
    assert max(abs(ranks[v] - known[v]) for v in known) < 1e-9

    personal = graph.pagerank(variant="graphalytics", iterations=150, personalised=[5, 7]).to_dict()
    known = nx.pagerank(of_networkx, alpha=0.85, tol=1e-12, max_iter=500, personalization={5: 1, 7: 1})
    assert max(abs(personal[v] - known[v]) for v in known) < 1e-9


def test_options_out_of_range_are_refused(context: gpugraph.Context) -> None:
    graph = gpugraph.Graph(nx.path_graph(5), context=context)
    for options in ({"damping": 1.0}, {"damping": -0.1}, {"iterations": 0}, {"tolerance": 0.0}, {"variant": "other"}):
        with pytest.raises(UsageError):
            graph.pagerank(**options)
    with pytest.raises(InputError):
        graph.pagerank(personalised=[77])

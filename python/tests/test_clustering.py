"""Clustering by direction: next to its definition."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import gpugraph


@pytest.mark.parametrize("of_networkx", [nx.gnp_random_graph(200, 0.06, seed=4, directed=True), nx.karate_club_graph()])
def test_links_are_edges_between_neighbours(context: gpugraph.Context, of_networkx: nx.Graph) -> None:
    found = gpugraph.Graph(of_networkx, context=context)
    clustering = found.directed_clustering()
    around = {v: set(nx.all_neighbors(of_networkx, v)) for v in of_networkx}
    links = [sum(of_networkx.has_edge(u, w) for u in around[v] for w in around[v]) for v in of_networkx]
    assert (clustering.links.dtype, clustering.clustering.dtype) == (np.uint64, np.float64)
    assert clustering.links.tolist() == links
    assert clustering.degree.tolist() == [len(around[v]) for v in of_networkx]
    shares = {v: links[v] / max(len(around[v]) * (len(around[v]) - 1), 1) for v in of_networkx}
    assert clustering.to_dict() == pytest.approx(shares)
    assert clustering.average_clustering == pytest.approx(np.mean(list(shares.values())))
    assert clustering.total == found.triangle_count()


def test_supports_are_common_neighbours(context: gpugraph.Context) -> None:
    of_networkx = nx.karate_club_graph()
    found = gpugraph.Graph(of_networkx, context=context).edge_supports()
    assert (found.source.dtype, found.target.dtype, found.support.dtype) == (np.int64, np.int64, np.uint32)
    ends = zip(found.source.tolist(), found.target.tolist())
    supports = {ends: support for ends, support in zip(ends, found.support.tolist())}
    right = {tuple(sorted(edge)): len(list(nx.common_neighbors(of_networkx, *edge))) for edge in of_networkx.edges}
    assert supports == right
    assert (found.total, found.largest) == (sum(right.values()) // 3, max(right.values()))
    named = gpugraph.Graph(nx.relabel_nodes(of_networkx, "v{:02}".format), context=context).edge_supports().to_pandas()
    assert sorted(named["source"] + named["target"]) == sorted(f"v{u:02}v{v:02}" for u, v in right)


def test_comparisons_are_steps_of_merges(context: gpugraph.Context) -> None:
    of_networkx = nx.karate_club_graph()
    found = gpugraph.Graph(of_networkx, context=context).triangle_comparisons()

    def steps(place: dict[int, int]) -> int:
        rows = {place[v]: sorted(place[u] for u in of_networkx[v] if place[u] > place[v]) for v in of_networkx}
        merges = [(row[at + 1 :], rows[v]) for row in rows.values() for at, v in enumerate(row)]
        overlap = [(a, b) for a, b in merges if a and b and a[0] <= b[-1] and b[0] <= a[-1]]
        return sum(len({v for v in a + b if v <= min(a[-1], b[-1])}) for a, b in overlap)

    order = sorted(of_networkx, key=lambda v: (of_networkx.degree[v], v))
    right = (steps({v: v for v in order}), steps({v: place for place, v in enumerate(order)}))
    assert (found.input_order, found.degree_order) == right
    assert found.ratio == pytest.approx(right[0] / right[1])

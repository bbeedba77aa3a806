"""Core numbers and layers: next to those of networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import gpugraph


@pytest.mark.parametrize("of_networkx", [nx.barabasi_albert_graph(500, 3, seed=2), nx.gnp_random_graph(400, 0.004, seed=5)])
def test_cores_are_those_of_networkx(context: gpugraph.Context, of_networkx: nx.Graph) -> None:
    found = gpugraph.Graph(of_networkx, context=context).cores()
    core, layer = nx.core_number(of_networkx), nx.onion_layers(of_networkx)
    assert (found.core.dtype, found.layer.dtype) == (np.int64, np.int64)
    assert found.to_dict() == core
    assert found.layer.tolist() == [layer[v] for v in range(len(of_networkx))]
    assert found.degeneracy == max(core.values())


def test_the_order_of_layers_is_a_degeneracy_order(context: gpugraph.Context) -> None:
    of_networkx = nx.gnp_random_graph(300, 0.05, seed=9)
    found = gpugraph.Graph(of_networkx, context=context).cores()
    place = {int(v): at for at, v in enumerate(np.argsort(found.layer, kind="stable"))}
    for v in of_networkx:
        assert sum(place[u] > place[v] for u in of_networkx.neighbors(v)) <= found.core[v]

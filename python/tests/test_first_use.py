"""What a user does first: ten lines, with the results of networkx."""

from pathlib import Path

import networkx as nx
import pandas as pd

import gpugraph


def test_triangles_of_a_snap_file_and_paths_in_a_table_are_those_of_networkx(snap: Path) -> None:
    graph = gpugraph.Graph(snap)
    triangles = graph.triangles()
    roads = pd.DataFrame(
        [("Ulm", "Bonn", 4.5), ("Bonn", "Kiel", 5.25), ("Ulm", "Kiel", 10.0), ("Kiel", "Köln", 0.125), ("Rom", "Bari", 1.0)],
        columns=["from", "to", "hours"],
    )
    paths = gpugraph.Graph(roads).sssp("Ulm")

    expected = nx.read_edgelist(snap, nodetype=int)
    assert {v: n for v, n in triangles.to_dict().items() if v in expected} == nx.triangles(drop_loops(expected))
    towns = nx.from_pandas_edgelist(roads, "from", "to", "hours")
    assert paths.to_dict() == nx.single_source_dijkstra_path_length(towns, "Ulm", weight="hours")
    frame = paths.to_pandas()
    assert frame.loc["Köln"].to_list() == [9.875, "Kiel"]
    assert frame.loc["Rom", "distance"] == float("inf") and pd.isna(frame.loc["Rom", "parent"])


def drop_loops(graph: nx.Graph) -> nx.Graph:
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph

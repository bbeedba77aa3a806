"""Graphs and plain computations to compare with."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

import pytest

import gpugraph


@pytest.fixture
def context() -> gpugraph.Context:
    return gpugraph.Context(device="cpu", threads=2, host_memory="1GiB")


@pytest.fixture
def snap(tmp_path: Path) -> Path:
    """A file as SNAP has them, of a random graph with loops and repeated edges."""
    random.seed(7)
    lines = [f"{random.randrange(200)}\t{random.randrange(200)}\n" for _ in range(1500)]
    file = tmp_path / "snap.txt"
    file.write_text("# Nodes: 200 Edges: 1500\n# FromNodeId\tToNodeId\n" + "".join(lines))
    return file


def levels(edges: list[tuple[int, int]], source: int, directed: bool = False) -> dict[int, int]:
    """Levels by a queue."""
    rows: dict[int, list[int]] = {}
    for u, v in edges:
        rows.setdefault(u, []).append(v)
        if not directed:
            rows.setdefault(v, []).append(u)
    found, queue = {source: 0}, deque([source])
    while queue:
        at = queue.popleft()
        for to in rows.get(at, []):
            if to not in found:
                found[to] = found[at] + 1
                queue.append(to)
    return found

"""Jobs, lists and the command."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gpugraph
from gpugraph.errors import BusyError, InputError, UsageError


def tables(workdir: Path, **more: Any) -> dict[str, Any]:
    return {"job": {"workdir": workdir}, "run": {"device": "cpu"}, "limits": {"threads": 2, "host_memory": "1GiB"}, **more}


def test_a_job_from_tables_and_from_a_file(snap: Path, tmp_path: Path) -> None:
    job = tables(
        tmp_path / "work", input={"path": [snap]}, triangle={"per_vertex": True}, bfs={"sources": [1, 5], "write": True}
    )
    plan = gpugraph.plan(job)
    plan.check()
    assert 0 < plan.host_memory_needed < 1 << 30 and plan.disk > 0 and plan.json and "ingest" in str(plan)
    report = gpugraph.run(job)
    graph = nx.read_edgelist(snap, nodetype=int)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    expected = nx.triangles(graph)
    assert report.results["triangle"]["triangles"] == sum(expected.values()) // 3
    assert {v: int(report.columns["triangles"][v]) for v in expected} == expected
    assert isinstance(report.columns["triangles"], np.memmap) and not report.columns["triangles"].flags.writeable
    assert set(report.columns) >= {"triangles", "clustering", "bfs/1/level", "bfs/5/parent"}
    levels = report.to_pandas("bfs/1/level", "triangles")
    reached = levels[levels["bfs/1/level"] >= 0]["bfs/1/level"].to_dict()
    assert reached == nx.single_source_shortest_path_length(graph, 1)
    assert report.to_arrow("triangles").column("triangles").to_pylist() == report.columns["triangles"].tolist()
    assert "triangles" in str(report) and report.seconds > 0
    with pytest.raises(InputError, match="bfs/9/level"):
        report.to_pandas("bfs/9/level")
    with pytest.raises(KeyError):
        report.columns["none"]
    status = gpugraph.status(job)
    assert status.finished and not status.running and status.json and "finished" in str(status).lower()

    file = tmp_path / "job.toml"
    file.write_text(f'[input]\npath = "{snap}"\n[triangle]\n')
    again = gpugraph.run(file, set={"job.workdir": tmp_path / "other", "limits.threads": 1, "run.device": "cpu"}, fresh=True)
    assert again.results["triangle"]["triangles"] == report.results["triangle"]["triangles"]
    kept = gpugraph.run({**job, "job": {"workdir": tmp_path / "kept", "keep": True}})
    assert gpugraph.Graph.open(kept.workdir).triangle_count() == again.results["triangle"]["triangles"]


def test_large_ids_in_tables_of_jobs_are_not_negative(tmp_path: Path) -> None:
    last = (1 << 64) - 1
    file = tmp_path / "edges.txt"
    file.write_text(f"1 {last}\n{last} {last - 9}\n7 8\n")
    search = {"sources": [1], "write": True}
    job = tables(tmp_path / "work", input={"path": file}, bfs=search, dfs={"source": 1}, components={}, cdlp={"iterations": 9})
    report = gpugraph.run(job)
    frame, arrow = report.to_pandas(), report.to_arrow()
    for name in ("bfs/1/parent", "dfs/parent"):
        assert frame[name].dropna().to_dict() == {1: 1, last: 1, last - 9: last}
        assert arrow[name].to_pylist() == [1, None, None, last, 1]
    assert frame["components/component"].to_list() == [1, 7, 7, 1, 1]
    assert set(frame["cdlp/label"]) <= set(frame.index)


def test_tables_of_jobs_have_a_row_for_each_vertex(tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text("source,target\nbob,alice\nalice,007\n007,bob\n007,NA\n")
    asked = {"per_vertex": True, "per_edge": True}
    report = gpugraph.run(tables(tmp_path / "work", input={"path": file, "ids": "string"}, triangle=asked))
    assert set(report.columns) >= {"triangles", "triangle/support"}
    assert report.to_pandas()["triangles"].to_dict() == {"007": 1, "NA": 0, "alice": 1, "bob": 1}
    assert report.to_arrow("degree").to_pydict() == {"id": ["007", "NA", "alice", "bob"], "degree": [3, 1, 2, 2]}
    with pytest.raises(UsageError, match="triangle/support has no row for each vertex"):
        report.to_pandas("triangle/support")
    tree = gpugraph.run(tables(tmp_path / "tree", input={"path": file, "ids": "string"}, bfs={"sources": ["bob"], "write": True}))
    assert tree.to_pandas()["bfs/3/parent"].to_dict() == {"007": "bob", "NA": "007", "alice": "bob", "bob": "bob"}
    text = gpugraph.run(tables(tmp_path / "text", input={"path": file, "ids": "string"}, output={"format": "csv"}, triangle=asked))
    with pytest.raises(UsageError, match="output.format"):
        text.to_pandas()


def test_mistakes_in_jobs_are_those_of_the_command_line(snap: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="triangel"):
        gpugraph.run(tables(tmp_path / "w", input={"path": snap}, triangel={}))
    with pytest.raises(UsageError, match="per_vertex"):
        gpugraph.run(tables(tmp_path / "w", input={"path": snap}, triangle={"per_vertex": None}))
    with pytest.raises(UsageError, match="expected a table"):
        gpugraph.run({"triangle": True})
    with pytest.raises(InputError, match="gone"):
        gpugraph.run(tables(tmp_path / "w", input={"path": "gone.txt"}, triangle={}))
    file = tmp_path / "job.toml"
    file.write_text("[input]\npath = 3\n")
    command = subprocess.run([sys.executable, "-m", "gpugraph", "run", file], capture_output=True, text=True)
    with pytest.raises(UsageError) as raised:
        gpugraph.run(file)
    assert command.returncode == raised.value.exit_code == 2
    assert str(raised.value).strip() in command.stderr
    (tmp_path / "busy").mkdir()
    done = gpugraph.run(tables(tmp_path / "full", input={"path": snap}, triangle={}))
    other = tmp_path / "other.txt"
    other.write_text("1 2\n")
    with pytest.raises(BusyError):
        gpugraph.run(tables(done.workdir, input={"path": other}, triangle={}))


def test_values_of_tables_are_written_as_toml(tmp_path: Path) -> None:
    strange = tmp_path / 'a "b" \\ ü\x7f\t'
    strange.mkdir()
    (strange / "e.txt").write_text("0 1\n1 2\n2 0\n")
    uniform = {"uniform": (np.int64(1), 9), "seed": 1}
    report = gpugraph.run(
        tables(strange / "w", input={"path": strange / "e.txt"}, sssp={"sources": np.array([0]), "weights": uniform})
    )
    assert report.results["sssp"]["sources"][0]["reached"] == 3


def wait_for_triangles(process: subprocess.Popen[str], workdir: Path) -> None:
    """Waits until a job counts triangles, which takes seconds on one thread."""
    status = workdir / "status.json"
    while process.poll() is None and not (status.exists() and '"stage":"triangle"' in status.read_text()):
        time.sleep(0.01)


def test_ctrl_c_stops_a_job_that_then_carries_on(tmp_path: Path) -> None:
    program = """
import sys, gpugraph
job = {"job": {"workdir": sys.argv[1]}, "run": {"device": "cpu"}, "limits": {"threads": 1, "host_memory": "1GiB"},
       "input": {"kronecker": {"scale": 20, "edge_factor": 16, "seed": 1}}, "triangle": {}}
print("starts", flush=True)
try:
    report = gpugraph.run(job)
except KeyboardInterrupt:
    sys.exit(3)
print(report.results["triangle"]["triangles"], report.json["resumes"])
"""
    workdir = tmp_path / "w"
    command = [sys.executable, "-c", program, str(workdir)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "starts\n"
    wait_for_triangles(process, workdir)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert process.wait(20) == 3
    assert time.monotonic() - began < 1.5
    generator = {"scale": 20, "edge_factor": 16, "seed": 1}
    status = gpugraph.status({"job": {"workdir": workdir}, "input": {"kronecker": generator}, "triangle": {}})
    assert not status.finished
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    triangles, resumes = done.stdout.split("\n")[1].split()
    assert int(resumes) == 1
    with gpugraph.Context(device="cpu") as context:
        assert int(triangles) == gpugraph.Graph.kronecker(20, 16, 1, context=context).triangle_count()


def test_the_command_saves_on_a_signal_and_has_the_exit_codes(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        f'[job]\nworkdir = "{tmp_path}/w"\n[input]\nkronecker = {{ scale = 20, edge_factor = 16, seed = 1 }}\n'
        '[run]\ndevice = "cpu"\n[limits]\nthreads = 1\n[triangle]\n'
    )
    command = [str(Path(sys.executable).with_name("gpugraph"))]
    process = subprocess.Popen([*command, "run", str(job)], stderr=subprocess.PIPE, text=True)
    wait_for_triangles(process, tmp_path / "w")
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 75 and process.stderr and "SIGINT" in process.stderr.read()
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"gpugraph {gpugraph.__version__}\n"
    assert subprocess.run([*command, "run", "gone.toml"], capture_output=True).returncode == 2


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_lists(dtype: Any, tmp_path: Path, context: gpugraph.Context) -> None:
    order = list(range(1000))
    random.Random(1).shuffle(order)
    successors = np.full(1000, -1, dtype)
    successors[order[:-1]] = order[1:]
    ranks = gpugraph.listrank(successors, context=context)
    assert ranks.ranks[order].tolist() == list(range(999, -1, -1)) and ranks.head == order[0]
    wide = np.repeat(successors, 2)[::2]
    assert gpugraph.listrank(wide, order="from-head", method="wyllie", context=context).ranks[order].tolist() == list(range(1000))
    file = tmp_path / "list.i64"
    successors.astype(np.int64).tofile(file)
    assert (gpugraph.listrank(file, context=context).ranks == ranks.ranks).all()
    assert ranks.to_pandas()["rank"].to_list() == ranks.ranks.tolist()


def test_mistakes_in_lists(context: gpugraph.Context) -> None:
    assert gpugraph.listrank([], context=context).head is None
    for wrong, said in [(np.zeros((2, 2), int), r"\(2, 2\)"), (np.zeros(2), "float64"), (np.array([5, -1]), "found 5")]:
        with pytest.raises(UsageError, match=said):
            gpugraph.listrank(wrong, context=context)
    with pytest.raises(InputError, match="cycle"):
        gpugraph.listrank([1, 0], context=context)
    with pytest.raises(UsageError, match="quick"):
        gpugraph.listrank([-1], method="quick", context=context)

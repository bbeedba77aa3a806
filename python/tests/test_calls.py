"""Calls: signals, threads, forks, progress, closed contexts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable

import mypy.api
import networkx as nx
import numpy as np
import pytest

import gpugraph
from gpugraph.errors import UsageError


def interrupted_after(seconds: float, work: Callable[[], Any]) -> float:
    """Sends SIGINT after some seconds of work without end, and returns the seconds that the work then took to stop."""
    sent = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                work()
        return time.monotonic() - sent[0]
    finally:
        timer.cancel()


def test_ctrl_c_stops_a_build_and_a_call_within_a_second(context: gpugraph.Context) -> None:
    assert interrupted_after(0.7, lambda: gpugraph.Graph.kronecker(21, 16, context=context)) < 1
    graph = gpugraph.Graph.kronecker(16, 16, context=context)
    assert interrupted_after(0.5, lambda: graph.triangles()) < 1
    # The graph is as it was.
    assert graph.triangle_count() == graph.triangles().total > 0


def test_other_threads_go_on_during_a_call(context: gpugraph.Context) -> None:
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before, began = counted[0], time.monotonic()
    gpugraph.Graph.kronecker(17, 16, context=context)
    seconds = time.monotonic() - began
    done.set()
    thread.join()
    # A tenth of what an idle machine gives.
    assert counted[0] - before > 100 * seconds


def test_threads_that_use_one_graph_take_turns(context: gpugraph.Context) -> None:
    graph = gpugraph.Graph.kronecker(12, 8, context=context)
    degree = graph.triangles().degree
    sources = [v for v in range(graph.vertices) if degree[v] > 0][:8]
    alone = {source: graph.bfs(source).levels.copy() for source in sources}
    found: dict[int, bool] = {}

    def search(source: int) -> None:
        found[source] = all((graph.bfs(source).levels == alone[source]).all() for _ in range(3))

    threads = [threading.Thread(target=search, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(sources, True)


def test_ctrl_c_while_another_thread_computes_leaves_its_call_alone(context: gpugraph.Context) -> None:
    graph, results = gpugraph.Graph.kronecker(17, 16, context=context), []
    thread = threading.Thread(target=lambda: results.extend(graph.triangle_count() for _ in range(4)))
    thread.start()
    interrupted_after(0.3, lambda: graph.bfs(1) if thread.is_alive() else time.sleep(0.01))
    thread.join()
    assert len(set(results)) == 1 and len(results) == 4


def test_progress_is_reported_on_the_calling_thread() -> None:
    seen: list[tuple[str, int, int]] = []

    def report(stage: str, done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        seen.append((stage, done, total))

    with gpugraph.Context(device="cpu", threads=1, progress=report) as context:
        gpugraph.Graph.kronecker(18, 16, context=context).triangle_count()
    assert seen and all(name and 0 <= done for name, done, _ in seen)


def test_an_exception_of_the_progress_function_stops_the_call() -> None:
    def report(*_: Any) -> None:
        raise LookupError("enough")

    def call(*_: Any) -> None:
        gpugraph.listrank([-1])

    with gpugraph.Context(device="cpu", progress=report) as context, pytest.raises(LookupError, match="enough"):
        gpugraph.Graph.kronecker(20, 16, context=context)
    with gpugraph.Context(device="cpu", progress=call) as context, pytest.raises(UsageError, match="progress"):
        gpugraph.Graph.kronecker(20, 16, context=context)


def test_a_closed_context_closes_its_graphs(tmp_path: Path) -> None:
    with gpugraph.Context(device="cpu", temporary_folder=tmp_path) as context:
        graph = gpugraph.Graph([(0, 1)], context=context)
        levels = graph.bfs(0).levels
        assert os.listdir(tmp_path)
    assert context.closed and graph.closed and not os.listdir(tmp_path)
    assert levels.tolist() == [0, 1]
    for call in (lambda: graph.bfs(0), lambda: gpugraph.Graph([(0, 1)], context=context), context.__enter__):
        with pytest.raises(UsageError, match="closed"):
            call()


def test_arguments_of_contexts() -> None:
    for arguments, said in [
        ({"host_memory": "8 potatoes"}, "potatoes"),
        ({"device": "tpu"}, "tpu"),
        ({"device": "cpu", "gpu": 0}, "GPU"),
        ({"temporary_folder": "/nowhere"}, "/nowhere"),
        ({"progress": 5}, "progress: expected a function, found 5"),
    ]:
        with pytest.raises(UsageError, match=said):
            gpugraph.Context(**arguments)  # type: ignore[arg-type]
    with pytest.raises(gpugraph.errors.LimitError, match="at least"):
        gpugraph.Graph([(0, 1)], context=gpugraph.Context(host_memory=1 << 20, device="cpu"))
    assert issubclass(gpugraph.errors.LimitError, MemoryError)


def use(graph: gpugraph.Graph, levels: Any, answers: Any) -> None:
    try:
        graph.bfs(0)
    except UsageError as e:
        answers.put(("refused" if "spawn" in str(e) else str(e), levels.tolist()))


def triangles_of(edges: list[tuple[int, int]]) -> int:
    return gpugraph.Graph(edges).triangle_count()


def test_a_forked_process_is_refused_and_keeps_results(tmp_path: Path) -> None:
    context = gpugraph.Context(device="cpu", temporary_folder=tmp_path)
    graph = gpugraph.Graph([(0, 1), (1, 2), (2, 0)], context=context)
    levels = graph.bfs(0).levels
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    process = fork.Process(target=use, args=(graph, levels, answers))
    process.start()
    process.join(20)
    assert process.exitcode == 0
    assert answers.get() == ("refused", [0, 1, 1])
    # A child that ends as Python does has the graph's files left alone.
    child = os.fork()
    if child == 0:
        del graph
        context.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert graph.triangle_count() == 1 and os.listdir(tmp_path)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(triangles_of, ([(0, 1), (1, 2), (2, 0)],)) == 1


def test_a_fork_before_the_first_call_is_like_any_process() -> None:
    program = """
import os, gpugraph
child = os.fork()
count = gpugraph.Graph([(0, 1), (1, 2), (2, 0)]).triangle_count()
assert count == 1
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_temporary_files_go_when_python_ends(tmp_path: Path) -> None:
    program = "import gpugraph; g = gpugraph.Graph([(0, 1)]); kept = [g]; kept.append(kept); print(g.bfs(0).depth)"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], check=True, env=environment, capture_output=True, text=True)
    assert done.stdout == "1\n" and os.listdir(tmp_path) == []
    assert tempfile.gettempdir() != str(tmp_path)


@pytest.mark.parametrize(
    "name, call",
    [
        ("threads", lambda graph: gpugraph.Context(threads=-1)),
        ("gpu", lambda graph: gpugraph.Context(gpu=1.5)),
        ("host_memory", lambda graph: gpugraph.Context(host_memory=-5)),
        ("vertices", lambda graph: gpugraph.Graph([(0, 1)], vertices=-1)),
        ("skip_lines", lambda graph: gpugraph.Graph("edges.txt", skip_lines=-1)),
        ("scale", lambda graph: gpugraph.Graph.kronecker(-1)),
        ("roots", lambda graph: graph.betweenness(roots=-1)),
        ("roots", lambda graph: graph.distances(roots=1 << 40)),
        ("seed", lambda graph: graph.distances(seed=-1)),
        ("iterations", lambda graph: graph.cdlp(iterations=True)),
        ("iterations", lambda graph: graph.pagerank(iterations=1 << 70)),
        ("weights", lambda graph: graph.sssp(0, weights=(1, -2, 3))),
        ("weights", lambda graph: graph.sssp(0, weights=(1, 2))),
    ],
)
def test_numbers_out_of_range_are_errors_of_usage(name: str, call: Any, context: gpugraph.Context) -> None:
    graph = gpugraph.Graph([(0, 1), (1, 2)], context=context)
    with pytest.raises(UsageError, match=f"^{name}: expected"):
        call(graph)


def test_a_direction_that_is_no_bool_is_refused(tmp_path: Path, context: gpugraph.Context) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("0 1\n")
    for edges in (file, [(0, 1)]):
        for directed in ("no", 1):
            with pytest.raises(TypeError, match="directed"):
                gpugraph.Graph(edges, directed=directed, context=context)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["pagerank", "betweenness", "distances"])
def test_vertices_come_as_any_iterable_but_not_as_keys(name: str, context: gpugraph.Context) -> None:
    of_networkx = nx.path_graph(4)
    graph = gpugraph.Graph(of_networkx, context=context)
    argument = "personalised" if name == "pagerank" else "sources"
    expected = getattr(graph, name)(**{argument: [0, 2]}).to_dict()
    for vertices in (np.array([0, 2]), (0, 2), iter([0, 2]), of_networkx.subgraph([0, 2]).nodes):
        assert getattr(graph, name)(**{argument: vertices}).to_dict() == expected
    with pytest.raises(TypeError, match=f"^{argument}: .* list of its keys"):
        getattr(graph, name)(**{argument: {0: 1.0, 2: 99.0}})


def test_errors_need_no_import_of_their_own() -> None:
    program = "import gpugraph; print(gpugraph.errors.UsageError.exit_code, 'numpy' in __import__('sys').modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "2 False\n"


def test_types_of_arguments() -> None:
    program = """
import numpy as np
import gpugraph
graph = gpugraph.Graph(np.array([[0, 1]]), weights=np.array([0.5]))
sources = np.array([0, 1])
graph.betweenness(sources).to_dict()
graph.distances(sources).to_dict()
graph.pagerank(personalised=sources).to_dict()
gpugraph.listrank(np.array([1, -1]))
raise gpugraph.errors.UsageError
"""
    told, _, _ = mypy.api.run(["--strict", "--cache-dir", os.devnull, "-c", program])
    assert told.startswith("Success"), told

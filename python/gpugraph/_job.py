"""Jobs: the functions ``run``, ``plan`` and ``status``, and their results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _gpugraph
from ._results import Rows, frame, is_reached
from ._sources import object_array
from .errors import InputError, UsageError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

#: Columns whose rows are not vertices.
_NOT_BY_VERTEX = ("triangle/source", "triangle/target", "triangle/support", "dfs/cycle")

#: Columns whose values are vertices, by the last parts of their names.
_VERTICES = ("parent", "component", "label")

#: Columns that say which vertices a search reached.
_REACHED = ("level", "distance", "preorder")

#: A job: the path of a job file, or its tables.
JobLike = Union[str, "os.PathLike[str]", Mapping[str, Any]]


class Columns(Mapping[str, "NDArray[Any]"]):
    """The columns of a workdir by their names under ``out/``, such as ``triangles`` or ``bfs/5/parent``.

    An array is mapped from its file when you access it, and is read-only.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> NDArray[Any]:
        path = self._folder / f"{name}.npy"
        if not path.is_file():
            raise KeyError(name)
        array: NDArray[Any] = np.load(path, mmap_mode="r")
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(str(file.relative_to(self._folder).with_suffix("")) for file in self._folder.rglob("*.npy")))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Report:
    """Report and results of a run. ``print(report)`` prints what ``gpugraph run`` prints."""

    def __init__(self, workdir: str, text: str, answer: str) -> None:
        #: The workdir of the job.
        self.workdir = Path(workdir)
        #: The contents of ``report.json``.
        self.json: dict[str, Any] = json.loads(text)
        #: The arrays in ``out/``.
        self.columns = Columns(self.workdir / "out")
        self._answer = answer

    @property
    def results(self) -> dict[str, Any]:
        """The results in ``report.json``, by the names of the algorithms' tables."""
        results: dict[str, Any] = self.json["results"]
        return results

    @property
    def seconds(self) -> float:
        """Seconds of this run."""
        return float(self.json["seconds"])

    def _table(self, names: tuple[str, ...]) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        chosen = names or tuple(name for name in self.columns if name not in ("ids", *_NOT_BY_VERTEX))
        if not chosen:
            why = "ask for some, such as triangle.per_vertex = true, and leave output.format as npy"
            raise UsageError(f"{self.workdir}: the job wrote no arrays with a row for each vertex; {why}")
        for name in chosen:
            if name in _NOT_BY_VERTEX:
                raise UsageError(f"{name} has no row for each vertex: take it from columns")
            if name not in self.columns:
                raise InputError(f"{self.workdir}: no column {name}; there are {', '.join(self.columns) or 'none'}")
        columns = {name: self.columns[name] for name in chosen}
        sparse = self.columns["ids"] if "ids" in self.columns else None
        # A list has no graph.
        labels = self._labels() if (self.json.get("graph") or {}).get("ids") == "strings" else None
        first = int(self.json["input"].get("first_id", 0)) if sparse is None else 0
        rows = Rows(len(next(iter(columns.values()))), first, sparse, labels)
        return rows.ids(), {name: self._values(name, column[first:], rows) for name, column in columns.items()}

    def _values(self, name: str, column: NDArray[Any], rows: Rows) -> NDArray[Any]:
        folder, _, last = name.rpartition("/")
        if last not in _VERTICES:
            return column
        marks = [self.columns[mark] for mark in (f"{folder}/{mark}" for mark in _REACHED) if mark in self.columns]
        return rows.of(column, is_reached(marks[0][rows.before :]) if marks else None)

    def _labels(self) -> NDArray[Any]:
        lines = (self.workdir / "out/ids.txt").read_bytes().split(b"\n")[:-1]
        return object_array([line.decode("utf-8", "surrogateescape") for line in lines])

    def to_pandas(self, *names: str) -> pd.DataFrame:
        """Returns a DataFrame of the named columns, or of all per-vertex columns, whose index is the ids of vertices.

        Per-edge columns, and ``dfs/cycle``, are only in :attr:`columns`. Values that are vertices are ids or labels, and
        are missing where a search reached no vertex, as in the tables of results of graphs.

        Raises:
            gpugraph.errors.InputError: There is no such column.
            ImportError: pandas is not installed.
        """
        ids, columns = self._table(names)
        return frame(ids, columns)

    def to_arrow(self, *names: str) -> pa.Table:
        """Returns a pyarrow.Table of the same columns, with the ids in ``id``.

        Raises:
            gpugraph.errors.InputError: There is no such column.
            ImportError: pyarrow is not installed.
        """
        import pyarrow as pa

        ids, columns = self._table(names)
        return pa.table({"id": ids, **columns})

    def __str__(self) -> str:
        return self._answer

    def __repr__(self) -> str:
        return f"Report(workdir={str(self.workdir)!r})"


class Plan:
    """The memory, disk space and time that a job needs. ``print(plan)`` prints what ``gpugraph plan`` prints."""

    def __init__(self, job: _gpugraph.Job) -> None:
        self._job = job
        needed, disk, seconds, text, self._shown = job.plan()
        #: The smallest limit of host memory with which the job runs, in bytes.
        self.host_memory_needed = needed
        #: The largest size of the workdir, in bytes.
        self.disk = disk
        #: The predicted time in seconds.
        self.seconds = seconds
        #: What ``gpugraph plan --json`` prints.
        self.json: dict[str, Any] = json.loads(text)

    def check(self) -> None:
        """Raises an exception if the job does not fit.

        Raises:
            gpugraph.errors.LimitError: A limit is too small.
            gpugraph.errors.DiskFullError: The disk has too little free space.
        """
        self._job.check()

    def __str__(self) -> str:
        return self._shown


class Status:
    """Progress of a job. ``print(status)`` prints what ``gpugraph status`` prints."""

    def __init__(self, job: _gpugraph.Job) -> None:
        running, finished, text, self._shown = job.status()
        #: True while a process works on the job.
        self.running = running
        #: True once all tasks are finished.
        self.finished = finished
        #: What ``gpugraph status --json`` prints.
        self.json: dict[str, Any] = json.loads(text)

    def __str__(self) -> str:
        return self._shown


def run(
    job: JobLike, *, set: Optional[Mapping[str, Any]] = None, fresh: bool = False, wait: bool = False
) -> Report:
    """Runs a job, or resumes it if an earlier run stopped.

    Ctrl-C stops it within a second. Finished work stays in the workdir, and the same call resumes the job.

    Args:
        job: The path of a job file, or its tables as a dict: ``{"input": {"path": "graph.txt"}, "triangle": {}}``.
        set: Values that replace those of keys in the job: ``{"bfs.roots": 64}``.
        fresh: Discards the work and results of earlier runs in the workdir.
        wait: Waits while another process uses the workdir.

    Returns:
        The report, with the columns of ``out/`` as arrays.

    Raises:
        gpugraph.errors.UsageError: The job has mistakes; the message describes each in a paragraph.
        gpugraph.errors.Error: The other exceptions in ``gpugraph.errors``, with the messages of ``gpugraph run``.
        KeyboardInterrupt: Ctrl-C.
    """
    made = _made(job, set, fresh, wait)
    text, answer = made.run()
    return Report(os.fspath(made.workdir()), text, answer)


def plan(job: JobLike, *, set: Optional[Mapping[str, Any]] = None) -> Plan:
    """Returns the memory, disk space and time that a job needs, without running it. For the arguments see :func:`run`.

    Raises:
        gpugraph.errors.UsageError: The job has mistakes.
        gpugraph.errors.InputError: The input can't be read.
    """
    return Plan(_made(job, set))


def status(job: JobLike, *, set: Optional[Mapping[str, Any]] = None) -> Status:
    """Returns the progress of a job, also if another process runs it. For the arguments see :func:`run`.

    Raises:
        gpugraph.errors.UsageError: The job has mistakes, or never ran.
    """
    return Status(_made(job, set))


def _made(
    job: JobLike, set: Optional[Mapping[str, Any]] = None, fresh: bool = False, wait: bool = False
) -> _gpugraph.Job:
    keys = [(key, _toml(value, key)) for key, value in (set or {}).items()]
    if isinstance(job, Mapping):
        return _gpugraph.Job(None, _tables(job), keys, fresh, wait)
    return _gpugraph.Job(os.fspath(job), None, keys, fresh, wait)


def _tables(job: Mapping[str, Any]) -> str:
    """Returns the text of a job file."""
    lines = []
    for name, table in job.items():
        if not isinstance(table, Mapping):
            raise UsageError(f"{name}: expected a table, which is a dict, found {table!r}")
        lines.append(f"[{_text(name)}]")
        lines += [f"{_text(key)} = {_toml(value, f'{name}.{key}')}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any, key: str) -> str:
    """Returns a value as TOML; `key` is for messages."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return _text(os.fspath(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(k)} = {_toml(v, f'{key}.{k}')}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(item, key) for item in value) + "]"
    raise UsageError(f"{key}: expected a number, text, list or dict, found {value!r}; leave out keys without a value")


def _text(text: str) -> str:
    # TOML strings are escaped like JSON strings, except that DEL must be escaped, too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

"""The extension module. Its names are not for use outside of the package."""

from collections.abc import Callable
from typing import Any, NoReturn, Optional, Union

import numpy as np
from numpy.typing import NDArray

__version__: str

def main(words: list[str]) -> NoReturn: ...

class Context:
    def __new__(
        cls,
        host_memory: Optional[Union[int, str]],
        gpu_memory: Optional[Union[int, str]],
        threads: int,
        device: str,
        gpu: Optional[int],
        temporary_folder: Optional[str],
        progress: Optional[Callable[[str, int, int], object]],
    ) -> Context: ...

class Labels:
    def all(self) -> list[str]: ...
    def find(self, label: bytes) -> Optional[int]: ...

class Graph:
    @staticmethod
    def from_files(
        context: Context, paths: list[str], options: dict[str, Any], directed: bool, workdir: Optional[str]
    ) -> Graph: ...
    @staticmethod
    def from_arrays(
        context: Context,
        ends: tuple[NDArray[Any], NDArray[Any], Optional[NDArray[Any]]],
        vertices: Optional[int],
        directed: bool,
        workdir: Optional[str],
    ) -> Graph: ...
    @staticmethod
    def generated(
        context: Context, uniform: bool, numbers: tuple[int, float, int], directed: bool, workdir: Optional[str]
    ) -> Graph: ...
    @staticmethod
    def open(context: Context, workdir: str) -> Graph: ...
    def figures(self) -> tuple[int, int, int, int, int, int, int]: ...
    def is_directed(self) -> bool: ...
    def is_weighted(self) -> bool: ...
    def ids(self) -> Optional[NDArray[np.uint64]]: ...
    def labels(self) -> Optional[Labels]: ...
    def totals(self) -> tuple[int, int, float, float]: ...
    def triangles(
        self,
    ) -> tuple[
        tuple[int, int, float, float], float, tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float64]]
    ]: ...
    def bfs(
        self, source: int, alpha: Optional[float], beta: Optional[float], validate: bool
    ) -> tuple[tuple[int, int, int, float], tuple[NDArray[np.int64], NDArray[np.int32]]]: ...
    def sssp(
        self, source: int, method: str, weights: Optional[tuple[int, int, int]], unit: bool, validate: bool
    ) -> tuple[tuple[int, float], tuple[NDArray[Any], NDArray[np.int64]]]: ...
    def dfs(
        self, source: Optional[int], articulation: bool, components: bool, validate: bool
    ) -> tuple[
        tuple[int, int, int, float],
        tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        tuple[Optional[NDArray[np.int64]], Optional[NDArray[np.int64]], Optional[NDArray[np.int64]]],
    ]: ...
    def pagerank(
        self, damping: float, variant: str, tolerance: float, iterations: Optional[int], personalised: list[int]
    ) -> tuple[tuple[int, float, bool, float, float], NDArray[np.float64]]: ...

class Job:
    def __new__(
        cls, file: Optional[str], text: Optional[str], set: list[tuple[str, str]], fresh: bool, wait: bool
    ) -> Job: ...
    def workdir(self) -> str: ...
    def run(self) -> tuple[str, str]: ...
    def plan(self) -> tuple[int, int, float, str, str]: ...
    def check(self) -> None: ...
    def status(self) -> tuple[bool, bool, str, str]: ...

def rank(
    context: Context, successors: NDArray[Any], method: str, order: str
) -> tuple[Optional[int], int, float, NDArray[np.int64]]: ...
def rank_file(
    context: Context, path: str, method: str, order: str
) -> tuple[Optional[int], int, float, NDArray[np.int64]]: ...

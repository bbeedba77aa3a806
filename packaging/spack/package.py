# SPDX-License-Identifier: (Apache-2.0 OR MIT)

import os

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Gpugraph(CargoPackage):
    """Exact algorithms on graphs that are larger than memory and the GPU, as resumable jobs."""

    # packaging/release.sh makes the archive. Spack takes it from the folder in which it runs.
    manual_download = True
    url = f"file://{os.getcwd()}/gpugraph-0.2.0-source.tar.gz"

    license("Apache-2.0 OR MIT")

    version("0.2.0", sha256="SHA256_OF_THE_SOURCE")

    variant("mpi", default=False, description="Share jobs among MPI ranks")
    variant("parquet", default=True, description="Read and write Parquet files")
    variant("cuda", default=False, description="Have NVRTC, which compiles the kernels for GPUs")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("mpi", when="+mpi")
    # bindgen reads mpi.h with libclang.
    depends_on("llvm+clang", when="+mpi", type="build")
    depends_on("cuda@12:13", when="+cuda", type="run")

    @property
    def build_args(self):
        features = [name for name in ("mpi", "parquet") if self.spec.satisfies(f"+{name}")]
        return ["--locked", "--offline", "--features", ",".join(features)]

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["mpi"].mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+cuda"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec["cuda"].prefix.lib64)

    def check(self):
        Executable(self.prefix.bin.gpugraph)("devices")

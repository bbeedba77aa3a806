#!/bin/sh
# Steps that Dockerfile and apptainer.def share. They run as root on Debian.
#   container.sh build MPI    builds /opt/gpugraph/bin/gpugraph from the source in this folder; MPI is none, openmpi or mpich
#   container.sh run MPI      installs what that binary needs to run
#   container.sh nvrtc        installs NVRTC where that binary finds it
set -eu
install() {
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
    rm -rf /var/lib/apt/lists/*
}
unknown() {
    echo "container.sh $*: expected build, run or nvrtc, and as MPI none, openmpi or mpich" >&2
    exit 2
}
case "$*" in
"build none") cargo install --locked --path . --root /opt/gpugraph --features parquet ;;
"build openmpi" | "build mpich")
    install "lib$2-dev" libclang-dev
    cargo install --locked --path . --root /opt/gpugraph --features parquet,mpi
    ;;
"run none") ;;
"run openmpi") install openmpi-bin ;;
"run mpich") install mpich ;;
nvrtc)
    packages=/opt/gpugraph/lib/python3/site-packages
    python3 -m pip install --no-cache-dir --no-deps --target "$packages" "nvidia-cuda-nvrtc==13.0.*"
    # A second build of the same compiler, which nothing loads: 114 MB.
    rm "$packages"/nvidia/cu13/lib/*.alt.so.*
    ;;
*) unknown "$@" ;;
esac

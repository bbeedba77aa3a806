# For CPUs, and for GPUs with NVRTC inside:
#   docker build -t gpugraph .
#   docker build -t gpugraph:gpu --target gpu .
#   docker run --rm -v "$PWD:/data" gpugraph run job.toml
#   docker run --rm --gpus all -v "$PWD:/data" gpugraph:gpu run job.toml
# With ranks: --build-arg MPI=openmpi or --build-arg MPI=mpich.
ARG MPI=none

FROM rust:1.89-bookworm AS build
ARG MPI
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY packaging/container.sh packaging/
COPY benches benches
COPY kernels kernels
COPY scheduler scheduler
COPY src src
RUN sh packaging/container.sh build "$MPI"

FROM python:3.13-slim-bookworm AS nvrtc
COPY packaging/container.sh /
RUN sh /container.sh nvrtc

FROM debian:bookworm-slim AS base
ARG MPI
COPY packaging/container.sh /
RUN sh /container.sh run "$MPI"
COPY --from=build /opt/gpugraph/bin /opt/gpugraph/bin
COPY configs /opt/gpugraph/share/gpugraph/configs
ENV PATH=/opt/gpugraph/bin:$PATH
WORKDIR /data
ENTRYPOINT ["gpugraph"]

FROM base AS gpu
COPY --from=nvrtc /opt/gpugraph/lib /opt/gpugraph/lib
# NVIDIA's container runtime mounts the driver of the host.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility

# The default: what stands last.
FROM base

#!/bin/bash
# Runs a job file under Flux, whatever it computes. From gpugraph's folder, or with GPUGRAPH_HOME set to it:
#
#     CONFIG=my.toml flux batch scheduler/job.flux
#     CONFIG=my.toml flux batch -t 12h scheduler/job.flux
#     for i in {1..9}; do CONFIG=jobs/%a.toml GPUGRAPH_TASK=$i flux batch scheduler/job.flux; done
#
# It saves before the time limit, submits itself again, and goes on until the job is done. docs/reference/schedulers.md has the rest.

# One node, eight cores, one GPU.
# flux: -N 1 -n 1 -c 8 -g 1
# flux: -t 4h
# flux: --job-name=gpugraph
# flux: --output=/dev/null

scheduler=flux ARGS=()
# shellcheck disable=SC2034,SC2317 # run.sh reads them, and exits
# shellcheck source=scheduler/run.sh
. "${GPUGRAPH_HOME:-${GPUGRAPH_SUBMIT_DIR:-$PWD}}/scheduler/run.sh" || {
    echo "submit this from gpugraph's folder, or set GPUGRAPH_HOME to it" >&2
    exit 2
}

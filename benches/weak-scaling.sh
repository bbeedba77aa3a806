#!/usr/bin/env bash
# The published weak scaling of traversal on a cluster of GPUs: R-MAT graphs of scale 21 a rank, 16 edges a vertex, by 1, 2, 4, ... ranks, with candidates
# pruned by sort and unique, and by the simple way with atomic operations. Prints, by the mean of all searches, seconds of a search, of the computation of
# the rank that computes longest and of its communication, by step, and MB that were sent and would have been without pruning.
#
#     benches/weak-scaling.sh [GPUGRAPH]
#
# GPUGRAPH has MPI (`cargo build --release --features mpi`). RANKS (unless said 1, 2, 4, ... as the machine has GPUs, or cores), SCALE of one rank,
# STRATEGIES, ROOTS, MPIRUN (such as "srun", or "mpirun --hostfile HOSTS") and SET (more keys) may be set. Jobs lie in gpugraph.work/weak-scaling.
set -euo pipefail
gpugraph=${1:-gpugraph}
scale=${SCALE:-21}
roots=${ROOTS:-16}
mpirun=${MPIRUN:-mpirun --bind-to none}
work=gpugraph.work/weak-scaling
mkdir -p "$work"
if [ -z "${RANKS:-}" ]; then
    most=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
    [ "$most" -gt 0 ] || most=$(nproc)
    RANKS=1
    for ((ranks = 2; ranks <= most; ranks *= 2)); do RANKS+=" $ranks"; done
fi

# mean REPORT PATTERN: the mean of the last numbers of all matches.
mean() {
    grep -o "$2" "$1" | sed 's/[^0-9]*$//; s/.*[":]//' | awk '{ sum += $1 } END { printf "%.6g", NR ? sum / NR : 0 }'
}

number='[0-9.e+-]*'
row='%-11s %5s %5s  %9s %9s %9s %6s  %8s %8s %8s %8s %8s %8s %8s  %9s %9s %6s\n'
# shellcheck disable=SC2059 # one format for head and rows
printf "$row" strategy ranks scale seconds compute communic. share prefix search sort unique exchange update waiting 'MB sent' 'unpruned' 'eff.'
for strategy in ${STRATEGIES:-sort-unique atomic}; do
    first=
    for ranks in $RANKS; do
        of_all=$scale
        for ((some = 1; some < ranks; some *= 2)); do of_all=$((of_all + 1)); done
        job=$work/$strategy-$ranks
        # One process needs no launcher.
        launch=()
        [ "$ranks" -eq 1 ] || read -ra launch <<<"$mpirun -n $ranks"
        read -ra keys <<<"${SET:-run.trials=1}"
        sets=()
        for key in "${keys[@]}"; do sets+=(--set "$key"); done
        "${launch[@]}" "$gpugraph" run configs/weak-scaling.toml --quiet --fresh --set job.workdir="$job" \
            --set "input.kronecker={scale=$of_all,edge_factor=16,seed=1}" --set traverse.roots="$roots" \
            --set traverse.strategy="$strategy" "${sets[@]}" >"$job.log" || {
            cat "$job.log"
            exit 1
        }
        tr -d ' \n' <"$job/report.json" >"$job.line"
        seconds=$(mean "$job.line" "\"reached\":$number,\"seconds\":$number,")
        communication=$(mean "$job.line" "\"communication_seconds\":$number,")
        compute=$(mean "$job.line" "\"compute_seconds\":$number,\"depth\"")
        step() { mean "$job.steps" "\"$1\":$number"; }
        grep -o '"steps":{[^}]*}' "$job.line" >"$job.steps"
        sent=$(mean "$job.line" "\"seconds\":$number,\"sent_bytes\":$number,\"source\"")
        unpruned=$(mean "$job.line" "\"teps\":$number,\"unpruned_bytes\":$number")
        first=${first:-$seconds}
        of() { awk "BEGIN { printf \"%.$3f\", $1 / ($2) }"; }
        # shellcheck disable=SC2059
        printf "$row" "$strategy" "$ranks" "$of_all" "$(of "$seconds" 1 5)" "$(of "$compute" 1 5)" "$(of "$communication" 1 5)" \
            "$(of "100 * $communication" "$seconds" 1)%" "$(of "$(step prefix_sum)" 1 5)" "$(of "$(step search)" 1 5)" \
            "$(of "$(step sort)" 1 5)" "$(of "$(step unique)" 1 5)" "$(of "$(step exchange)" 1 5)" "$(of "$(step update)" 1 5)" \
            "$(of "$(step waiting)" 1 5)" "$(of "$sent" 1000000 1)" "$(of "$unpruned" 1000000 1)" "$(of "100 * $first" "$seconds" 0)%"
    done
done

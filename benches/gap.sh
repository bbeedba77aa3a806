#!/usr/bin/env bash
# The six kernels of the GAP Benchmark Suite, on three of its five graphs: Kronecker, uniform, and a grid in place of roads. Prints the mean seconds of
# a trial, by GAP's numbers of trials and sources. If a folder has GAP's reference code, it runs in turn with gpugraph on the same files.
#
#     benches/gap.sh [GPUGRAPH [GAPBS]]
#
# GAPBS is the folder in which `make` built the reference code. SCALE (20: 2^20 vertices, 16 edges each), GRAPHS, KERNELS, ROUNDS (3: each program runs
# so often, and the medians are printed), SHARE (1: one in so many of GAP's trials, at least one) and SET (more keys, such as "run.device=cpu") may be
# set. Jobs and graphs lie in gpugraph.work/gap.
#
# Seconds of gpugraph are those after it has prepared the graph, which is printed first: it takes the place of what the reference code does when it
# writes its binary graphs, and of the relabelling that `tc` does in each trial. Sources are drawn by each program.
set -euo pipefail
gpugraph=${1:-gpugraph}
gapbs=${2:-}
scale=${SCALE:-20}
rounds=${ROUNDS:-3}
share=${SHARE:-1}
work=gpugraph.work/gap/$scale
mkdir -p "$work"
read -ra keys <<<"${SET:-}"
sets=()
for key in "${keys[@]}"; do sets+=(--set "$key"); done

# generate GRAPH: writes edges to a file and prints its name.
generate() {
    local file=$work/$1.el
    case $1 in
    kron) set -- kronecker --scale "$scale" ;;
    urand) set -- uniform --scale "$scale" ;;
    road) file=$work/$1.wel && set -- grid --rows $((1 << scale / 2)) --columns $((1 << (scale - scale / 2))) --max-weight 255 ;;
    *) echo "$1: expected kron, urand or road" >&2 && exit 2 ;;
    esac
    [ -e "$file" ] || "$gpugraph" generate "$@" --seed 1 -o "$file" >"$file.log"
    echo "$file"
}

# prepare GRAPH: writes what both programs read, and prints the seconds that gpugraph takes.
prepare() {
    local file weights='' job=$work/$1
    file=$(generate "$1")
    if [ -n "$gapbs" ]; then
        [ -e "$job.sg" ] || "$gapbs/converter" -s -f "$file" -b "$job.sg" >/dev/null
        [ -e "$job.wsg" ] || "$gapbs/converter" -s -f "$file" -wb "$job.wsg" >/dev/null
        file=$job.wsg weights='weights = "u32"'
    fi
    printf '[job]\nworkdir = "%s"\nkeep = true\n[input]\npath = "%s"\n%s\n' "$job" "$file" "$weights" >"$job.toml"
    "$gpugraph" run "$job.toml" --fresh --quiet "${sets[@]}" >"$job.log"
    tr -d ' \n' <"$job/report.json" | sed 's/.*"seconds_total":\([0-9.e-]*\).*/\1/'
}

# trials NUMBER: prints the share of these trials.
trials() { echo $(($1 < share ? 1 : $1 / share)); }

# ours GRAPH KERNEL: prints the mean seconds of a trial of gpugraph.
ours() {
    local searches=1 trials=1 table job=$work/$1-$2 weights='{ uniform = [1, 255] }'
    [ -z "$gapbs" ] || weights='"file"'
    case $2 in
    bfs) searches=$(trials 64) table="[bfs]\nroots = $searches\nvalidate = false" ;;
    sssp) searches=$(trials 64) table="[sssp]\nroots = $searches\nvalidate = false\nweights = $weights" ;;
    pr) trials=$(trials 16) table='[pagerank]\nvariant = "gap"' ;;
    cc) trials=$(trials 16) table='[components]' ;;
    # A trial of GAP has four sources.
    bc) searches=$(trials 16) table="[betweenness]\nroots = $((4 * searches))\nnormalise = 'largest'" ;;
    tc) trials=$(trials 3) table='[triangle]' ;;
    *) echo "$2: expected bfs, sssp, pr, cc, bc or tc" >&2 && exit 2 ;;
    esac
    printf '[job]\nworkdir = "%s"\n[input]\nprepared = "%s"\n[run]\ntrials = %s\n%b\n' "$job" "$work/$1" "$trials" "$table" >"$job.toml"
    "$gpugraph" run "$job.toml" --fresh --quiet "${sets[@]}" >"$job.log"
    tr -d ' \n' <"$job/report.json" | grep -o '"trials":\[[^]]*' | tail -n 1 | tr -dc '0-9.e,-' | tr , '\n' |
        awk -v searches="$searches" '{ sum += $1 } END { print sum / NR / searches }'
}

# theirs GRAPH KERNEL: prints the mean seconds of a trial of the reference code.
theirs() {
    local file=$work/$1.sg options
    case $2 in
    bfs) options=(-n "$(trials 64)") ;;
    # The width of buckets is GAP's, and for the grid one that is good for it.
    sssp) file=$work/$1.wsg options=(-n "$(trials 64)" -d "$([ "$1" = road ] && echo "${DELTA:-1000}" || echo 2)") ;;
    pr) options=(-i 1000 -t 1e-4 -n "$(trials 16)") ;;
    cc) options=(-n "$(trials 16)") ;;
    bc) options=(-i 4 -n "$(trials 16)") ;;
    tc) options=(-n "$(trials 3)") ;;
    esac
    "$gapbs/$2" -f "$file" "${options[@]}" | awk '/^Average Time/ { print $3 }'
}

median() { sort -g | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'; }

row='%-7s %-7s %12s %12s %7s\n'
# shellcheck disable=SC2059 # one format for head and rows
printf "$row" graph kernel gpugraph GAPBS ratio
for graph in ${GRAPHS:-kron urand road}; do
    # shellcheck disable=SC2059
    printf "$row" "$graph" prepare "$(prepare "$graph")" - -
    for kernel in ${KERNELS:-bfs sssp pr cc bc tc}; do
        of_ours=() of_theirs=()
        for ((round = 0; round < rounds; round++)); do
            of_ours+=("$(ours "$graph" "$kernel")")
            [ -z "$gapbs" ] || of_theirs+=("$(theirs "$graph" "$kernel")")
        done
        seconds=$(printf '%s\n' "${of_ours[@]}" | median) peer=- ratio=-
        if [ -n "$gapbs" ]; then
            peer=$(printf '%s\n' "${of_theirs[@]}" | median)
            ratio=$(awk "BEGIN { printf \"%.2f\", $peer / $seconds }")
        fi
        # shellcheck disable=SC2059
        printf "$row" "$graph" "$kernel" "$seconds" "$peer" "$ratio"
    done
done

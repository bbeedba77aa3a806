#!/usr/bin/env bash
# The published figures 4 and 5 on shortest paths: graphs of 128 to 16,384 vertices, cliques that are joined (SSCA#2) and random edges, by Moore's
# algorithm with queues in three tiers and by its baseline with masks. Prints milliseconds a search of both, distances alone as published and with
# parents, and how many times faster Moore's is.
#
#     benches/moore.sh [GPUGRAPH]
#
# SIZES and ROOTS may be set; unless said, all powers of two, and 16 roots each. Jobs lie in gpugraph.work/moore.
set -euo pipefail
gpugraph=${1:-gpugraph}
sizes=${SIZES:-128 256 512 1024 2048 4096 8192 16384}
roots=${ROOTS:-16}
work=gpugraph.work/moore
mkdir -p "$work"

# run NAME METHOD INPUT: prints the mean milliseconds of distances alone, and of a search.
run() {
    local method=$2 input=$3 job=$work/$1-$2
    printf '[job]\nworkdir = "%s"\n[input]\n%s\n[run]\ndevice = "gpu"\n[sssp]\nroots = %s\nmethod = "%s"\nweights = "file"\n' \
        "$job" "$input" "$roots" "$method" >"$job.toml"
    "$gpugraph" run "$job.toml" --fresh --quiet >"$job.log"
    # Of each source, the seconds of its first kind of step, which finds distances, and its own.
    local number='[0-9.e+-]*'
    tr -d ' \n' <"$job/report.json" >"$job.line"
    grep -o "\"phases\":\[{\"kind\":\"push\",\"relaxations\":$number,\"rounds\":$number,\"seconds\":$number" "$job.line" | mean
    grep -o "\"relaxations\":$number,\"seconds\":$number,\"source\":" "$job.line" | sed 's/,"source"://' | mean
}

# Prints the mean of the numbers at the ends of lines, in thousandths.
mean() {
    awk -F: '{ sum += $NF } END { printf "%.4f ", 1000 * sum / NR }'
}

row='%-8s %8s  %12s %12s %7s  %12s %12s %7s\n'
# shellcheck disable=SC2059 # one format for head and rows
printf "$row" graph vertices moore bellman-ford ratio 'and parents' 'and parents' ratio
for kind in ssca2 random; do
    ratios=()
    for n in $sizes; do
        case $kind in
        ssca2) input="ssca2 = { vertices = $n, min_weight = 1, max_weight = 1000, seed = 1 }" ;;
        random) input="random = { vertices = $n, edges = $((10 * n)), min_weight = 1, max_weight = 1000, seed = 1 }" ;;
        esac
        read -r moore moore_all <<<"$(run "$kind-$n" moore "$input")"
        read -r masked masked_all <<<"$(run "$kind-$n" bellman-ford "$input")"
        ratio=$(awk "BEGIN { printf \"%.2f\", $masked / $moore }")
        ratios+=("$ratio")
        # shellcheck disable=SC2059
        printf "$row" $kind "$n" "$moore" "$masked" "$ratio" "$moore_all" "$masked_all" "$(awk "BEGIN { printf \"%.2f\", $masked_all / $moore_all }")"
    done
    printf '%s\n' "${ratios[@]}" | awk -v kind=$kind '{ sum += $1; if ($1 > best) best = $1 } END { printf "%s: mean ratio %.2f, best %.2f\n", kind, sum / NR, best }'
done

#!/usr/bin/env bash
# Records the benchmark: host/bench/record.sh DAMACY PYTHON FOLDER [FLAG...]
#
# All built-in scenarios beside all peers -> FOLDER/bench.md (the table), results.json and report.html, all of one run. What
# was in FOLDER stays unless the whole run succeeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
damacy=$1 python=$2 folder=$3
shift 3

# Each in its own output type, and four of them in two more, of other widths.
types=float32,uint8,uint16
scenarios=(
    "default:$types" "one-array:$types" "aligned-scan:$types" "mixed-codecs:$types"
    mixed-dtypes small-crops many-arrays held-batches cached high-latency smoke
)
# The command is in the results: by its name, and with a folder of the tree.
runs=target/bench-recording
rm -rf "$runs" && mkdir -p "$runs"
trap 'rm -rf "$runs"' EXIT
PATH=$(dirname "$damacy"):$PATH
damacy bench "${scenarios[@]}" --peers tensorstore,zarr,zarrs --python "$python" --open never --out "$runs" "$@" \
    >"$runs/table" || { code=$? && trap - EXIT && echo "not recorded, kept in $runs" >&2 && exit "$code"; }
mkdir -p "$folder"
{
    printf '# Benchmark\n\nMade by `make bench`; not edited by hand. [report.html](report.html) explains it with pictures,\n'
    printf '[results.json](results.json) has every figure, [../bench.md](../bench.md) says how they are measured.\n\n```text\n'
    cat "$runs/table"
    printf '```\n'
} >"$runs/bench.md"
cp "$runs/bench.md" "$runs/results.json" "$runs/report.html" "$folder"
echo "written: $folder/bench.md, $folder/results.json, $folder/report.html"

#!/usr/bin/env bash
# Records the benchmark: host/bench/record.sh DAMACY PYTHON FOLDER [FLAG...]
#
# The scenarios below beside their peers -> FOLDER/bench.md (the table), results.json and report.html, all of one run. What
# was in FOLDER stays unless the whole run succeeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
damacy=$1 python=$2 folder=$3
shift 3

# Without small-crops, whose peers took more than ten minutes in one output type, and without the slowest peer, zarr with its own
# codecs.
peers=tensorstore,zarrs
# The command is in the results: by its name, and with a folder of the tree.
runs=target/bench-recording
mkdir -p "$runs"
trap 'rm -rf "$runs"' EXIT
PATH=$(dirname "$damacy"):$PATH
damacy bench default one-array aligned-scan mixed-codecs --dtype float32,uint8,uint16 \
    --peers "$peers" --python "$python" --out "$runs" "$@" >"$runs/table"
mkdir -p "$folder"
{
    printf '# Benchmark\n\nMade by `make bench`; not edited by hand. [report.html](report.html) explains it with pictures,\n'
    printf '[results.json](results.json) has every figure, [../bench.md](../bench.md) says how they are measured.\n\n```text\n'
    cat "$runs/table"
    printf '```\n'
} >"$runs/bench.md"
cp "$runs/bench.md" "$runs/results.json" "$runs/report.html" "$folder"
echo "written: $folder/bench.md, $folder/results.json, $folder/report.html"

#!/usr/bin/env bash
# Fuzzes every target for a while, or those that are named: run.sh [TARGET...]
#
# FUZZ_SECONDS=60         time for all targets together, the build apart
# FUZZ_SANITIZER=address  or none, which is faster and misses reads outside buffers
# FUZZ_FLAGS=             more flags for libFuzzer
#
# Works on a stable toolchain: the coverage flags are cargo-fuzz's own, and AddressSanitizer needs RUSTC_BOOTSTRAP=1.
# The timeout is generous, since it counts wall-clock time and a busy machine may stand still; slow inputs are reported.
# What libFuzzer learns is kept under target/fuzz/corpus; an input that breaks a promise lands in target/fuzz/found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

[ $# -gt 0 ] || set -- metadata documents plan cost convert
seconds=$((${FUZZ_SECONDS:-60} / $#))
sanitizer=${FUZZ_SANITIZER:-address}
work=$(realpath -m "${CARGO_TARGET_DIR:-../../target}")/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')

flags="--cfg fuzzing -C passes=sancov-module -C codegen-units=1 -C llvm-args=-sanitizer-coverage-level=4"
flags+=" -C llvm-args=-sanitizer-coverage-inline-8bit-counters -C llvm-args=-sanitizer-coverage-pc-table"
flags+=" -C llvm-args=-sanitizer-coverage-trace-compares"
if [ "$sanitizer" != none ]; then
    flags+=" -Z sanitizer=$sanitizer"
    export RUSTC_BOOTSTRAP=1
fi
echo "== building the fuzz targets (sanitizer: $sanitizer)"
# With a target triple the flags leave build scripts alone.
CARGO_TARGET_DIR=$work RUSTFLAGS=$flags cargo build --release --locked --quiet --target "$host"

failed=0
mkdir -p "$work/found"
for target in "$@"; do
    mkdir -p "$work/corpus/$target" "seeds/$target" "found/$target"
    log=$work/$target.log
    # Choices are read from a few hundred bytes at the most; documents are texts.
    length=512
    [ "$target" != metadata ] || length=4096
    echo "== fuzzing $target for $seconds s"
    # shellcheck disable=SC2086
    if "$work/$host/release/$target" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=1024 -max_len=$length \
        -len_control=20 -print_final_stats=1 \
        -dict=json.dict -artifact_prefix="$work/found/$target-" ${FUZZ_FLAGS:-} \
        "$work/corpus/$target" "seeds/$target" "found/$target" >"$log" 2>&1 </dev/null; then
        awk '/ cov: /{for (i = 1; i < NF; i++) {if ($i == "cov:") c = $(i + 1); if ($i == "corp:") n = $(i + 1)}}
            /number_of_executed_units/{u = $2} /average_exec_per_sec/{s = $2} /peak_rss_mb/{m = $2}
            END {printf "   %d inputs, %d a second, %d edges covered, corpus %s, peak %d MB\n", u, s, c, n, m}' "$log"
    else
        failed=1
        grep -aE 'panicked|assertion|left:|right:|ERROR:|SUMMARY:|Test unit written|^\S+\.rs:' "$log" | head -20 || true
        echo "   FAILED: the whole log is $log; the input is named there. Replay it with"
        echo "   $work/$host/release/$target INPUT"
    fi
done
exit $failed

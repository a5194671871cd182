#!/usr/bin/env bash
# Runs the unsafe code of core-wit and of the GPU kernels' host build under miri, and says what it ran.
#
# Called by `make miri`. A program under miri has the vector instructions that the compiler was told to build for, so the
# kernels run once a level. What miri cannot run (AVX-512, non-temporal stores) is for the guard pages: docs/miri.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
strict="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-disable-isolation"

# run WHAT MIRIFLAGS RUSTFLAGS ARGUMENT...
run() {
    printf '== miri: %s\n' "$1"
    MIRIFLAGS=$2 RUSTFLAGS=$3 cargo +nightly miri test --release --locked --quiet --package damacy-suite "${@:4}"
}

run "the guest's allocator, boxes and rows with the baseline" "$strict" "" --test guest_memory --test guard_pages
run "rows with AVX2" "$strict" "-C target-feature=+avx2,+fma,+f16c" --test guard_pages flat
# Device addresses are integers, so that pointers are made from them.
run "the GPU kernels' code" "-Zmiri-permissive-provenance -Zmiri-disable-isolation" "" --test gpu random_batches_on_one_warp

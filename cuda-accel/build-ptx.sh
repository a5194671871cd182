#!/usr/bin/env bash
# Builds the GPU kernels from cuda-accel/kernels and core-wit's rules into cuda-accel/prebuilt, with their manifest.
#
#   cuda-accel/build-ptx.sh           build and replace the committed files
#   cuda-accel/build-ptx.sh --check   build elsewhere and compare byte for byte with the committed files
#
# Debian's second Rust toolchain does it (rustc-web and friends, LLVM's back end for PTX is in it; core is built from its
# source), installed here when root on Debian. There is no link step: the file is what the compiler prints for the crate.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly workspace=$PWD target=nvptx64-nvidia-cuda prebuilt=cuda-accel/prebuilt
say() { echo "build-ptx: $*" >&2; }

mode=build
case "${1:-}" in
  "") ;;
  --check) mode=check ;;
  *) say "unknown argument $1; usage: cuda-accel/build-ptx.sh [--check]"; exit 2 ;;
esac

readonly packages="rustc-web cargo-web rust-web-src rust-web-llvm"
have_debian() { [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && [ -d /usr/lib/rustlib/src/rust ]; }
install_debian() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  say "installing Debian's packages $packages"
  # shellcheck disable=SC2086 # the list is meant to split
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; } >&2
}
have_debian || { install_debian && have_debian; } || { say "no toolchain for $target: install Debian's $packages"; exit 1; }

# The same flags for every builder, whatever the caller's environment says. sm_75 is the oldest architecture that current
# drivers support, and makes LLVM print PTX ISA 6.3, which they all read.
unset CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
export CARGO_INCREMENTAL=0 RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc
cargo_home=${CARGO_HOME:-$HOME/.cargo}
arguments="rustc --locked -p damacy-cuda-kernels --lib --crate-type rlib --profile kernels --target $target -Z build-std=core"
flags="-C target-cpu=sm_75 -Z location-detail=none"
remap() { printf -- '--remap-path-prefix=%s=/damacy --remap-path-prefix=%s=/cargo --remap-path-prefix=%s=/rust' "$@"; }
built=${CARGO_TARGET_DIR:-$workspace/target}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

say "compiling with $($RUSTC -V)"
# shellcheck disable=SC2086 # the arguments are meant to split
PATH="/usr/bin:$PATH" RUSTFLAGS="$flags $(remap "$workspace" "$cargo_home" "$($RUSTC --print sysroot)")" \
  /usr/bin/cargo $arguments --target-dir "$built" -- --emit "asm=$made/damacy.ptx"

out=$prebuilt
[ "$mode" = check ] && out=$made/checked
unset RUSTC
WORKSPACE=$workspace RUSTC_VERSION=$(/usr/bin/rustc -V) CARGO_ARGUMENTS="$arguments -- --emit asm" \
  RUSTFLAGS_SHOWN="$flags $(remap WORKSPACE CARGO_HOME SYSROOT)" \
  CRATES=$(cargo tree --locked --prefix none --format '{p}' -p damacy-cuda-kernels --target "$target" -e normal,build) \
  cargo run --quiet --locked --release --manifest-path core-wit/encoder/Cargo.toml --target-dir "$built" -- kernels "$made/damacy.ptx" "$out"

if [ "$mode" = check ]; then
  if cmp -s "$out/damacy.ptx" "$prebuilt/damacy.ptx" && cmp -s "$out/manifest.json" "$prebuilt/manifest.json"; then
    say "the committed PTX is what these sources give"
  else
    say "the committed PTX is not what these sources and this toolchain give:"
    diff "$prebuilt/manifest.json" "$out/manifest.json" >&2 || true
    say "run cuda-accel/build-ptx.sh and commit $prebuilt; only the manifest's toolchain gives the same bytes"
    exit 1
  fi
else
  say "$(wc -c <"$prebuilt/damacy.ptx") bytes in $prebuilt/damacy.ptx"
fi

#!/usr/bin/env bash
# Builds the component from core-wit and wit into core-wit/prebuilt, with its manifest.
#
#   core-wit/build-component.sh           build and replace the committed files
#   core-wit/build-component.sh --check   build elsewhere and compare byte for byte with the committed component
#
# Two toolchains can do it: Debian's second Rust toolchain (rustc-web and friends; std is built from its source),
# installed here when root on Debian, or rustup's with the target wasm32-unknown-unknown. Only builds by the manifest's
# toolchain are comparable. DAMACY_WASM_TOOLCHAIN=debian|rustup chooses; without it, Debian's where it can be had.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly workspace=$PWD target=wasm32-unknown-unknown prebuilt=core-wit/prebuilt
say() { echo "build-component: $*" >&2; }

mode=build
case "${1:-}" in
  "") ;;
  --check) mode=check ;;
  *) say "unknown argument $1; usage: core-wit/build-component.sh [--check]"; exit 2 ;;
esac

readonly packages="rustc-web cargo-web rust-web-src rust-web-llvm lld-22"
have_debian() { [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && [ -d /usr/lib/rustlib/src/rust ] && [ -x /usr/bin/wasm-ld-22 ]; }
install_debian() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  say "installing Debian's packages $packages"
  # shellcheck disable=SC2086 # the list is meant to split
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; } >&2
}
have_rustup() { rustup target add "$target" >&2 2>/dev/null; }

toolchain=${DAMACY_WASM_TOOLCHAIN:-}
if [ -z "$toolchain" ]; then
  if have_debian || { install_debian && have_debian; }; then toolchain=debian
  elif have_rustup; then toolchain=rustup
  else
    say "no toolchain for $target: install Debian's $packages, or run 'rustup target add $target'"
    exit 1
  fi
fi

# The same flags for every builder, whatever the caller's environment says. Paths are remapped so that none gets into the
# component; panic locations go, since a trap in the guest is reported without them. Inlining below opt-level 3's taste
# costs a third less code; what is marked #[inline], the kernels first of all, is still inlined. Vectors are taken four
# in a round of a loop, since what wasmtime adds to a round (epoch check, loop counters) costs as much as the vector
# itself; all other loops are unrolled where that is small, which pays for the vectors' code. The linker is told to leave the names of functions out, 37 KB, since the profile's `strip` does not reach it.
unset CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
export CARGO_INCREMENTAL=0 RUSTC_BOOTSTRAP=1
cargo_home=${CARGO_HOME:-$HOME/.cargo}
arguments="rustc --locked -p damacy-core --lib --crate-type cdylib --features guest --profile component --target $target"
flags="-C target-feature=+simd128 -Z location-detail=none"
last="-C llvm-args=--inline-threshold=5 -C llvm-args=-force-vector-interleave=4"
last="$last -C llvm-args=-unroll-runtime=false -C llvm-args=-unroll-allow-partial=false -C llvm-args=-unroll-threshold=30"
last="$last -C link-arg=--strip-all"
case "$toolchain" in
  debian)
    cargo=/usr/bin/cargo rustc=/usr/bin/rustc
    arguments="$arguments -Z build-std=std,panic_abort"
    flags="-C linker=wasm-ld-22 $flags"
    linker=$(/usr/bin/wasm-ld-22 --version)
    ;;
  rustup)
    cargo=cargo rustc=rustc
    linker="rust-lld of rustc"
    ;;
  *) say "DAMACY_WASM_TOOLCHAIN is '$toolchain'; it can be debian or rustup"; exit 2 ;;
esac
sysroot=$($rustc --print sysroot)
remap() { printf -- '--remap-path-prefix=%s=/damacy --remap-path-prefix=%s=/cargo --remap-path-prefix=%s=/rust' "$@"; }
built=${CARGO_TARGET_DIR:-$workspace/target}

say "compiling with $($rustc -V)"
(
  [ "$toolchain" = rustup ] || export PATH="/usr/bin:$PATH"
  # shellcheck disable=SC2086 # the arguments are meant to split
  RUSTFLAGS="$flags $(remap "$workspace" "$cargo_home" "$sysroot")" RUSTC=$rustc $cargo $arguments --target-dir "$built" -- $last
)

out=$prebuilt
if [ "$mode" = check ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
tree() { cargo tree --locked --prefix none --format '{p}' "$@"; }
WORKSPACE=$workspace RUSTC_VERSION=$($rustc -V) LINKER=$linker CARGO_ARGUMENTS="$arguments -- $last" \
  RUSTFLAGS_SHOWN="$flags $(remap WORKSPACE CARGO_HOME SYSROOT)" \
  CRATES=$(tree -p damacy-core --features guest --target "$target" -e normal,build) \
  ENCODER=$(tree --manifest-path core-wit/encoder/Cargo.toml --depth 1 | grep '^wit-component ') \
  cargo run --quiet --locked --release --manifest-path core-wit/encoder/Cargo.toml --target-dir "$built" -- component "$built/$target/component/damacy_core.wasm" "$out"

if [ "$mode" = check ]; then
  if cmp -s "$out/damacy-core.wasm" "$prebuilt/damacy-core.wasm" && cmp -s "$out/manifest.json" "$prebuilt/manifest.json"; then
    say "the committed component is what these sources give"
  else
    say "the committed component is not what these sources and this toolchain give:"
    diff "$prebuilt/manifest.json" "$out/manifest.json" >&2 || true
    say "run core-wit/build-component.sh and commit $prebuilt; only the manifest's toolchain gives the same bytes"
    exit 1
  fi
else
  say "$(wc -c <"$prebuilt/damacy-core.wasm") bytes in $prebuilt/damacy-core.wasm"
fi

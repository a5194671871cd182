#!/usr/bin/env bash
# Installs what a make target lacks, and nothing that is there already.
#
#   setup.sh tools              cargo (checked), a C compiler
#   setup.sh c                  compilers for C and C++, pkg-config, valgrind
#   setup.sh cxx                a C++ compiler, for libFuzzer
#   setup.sh wasm               a compiler for wasm32-unknown-unknown
#   setup.sh aarch64            Rust's standard library, a linker and an emulator for aarch64
#   setup.sh miri               miri of the nightly toolchain
#   setup.sh venv NAME...       .venv with python/requirements-NAME.txt for each NAME
#   setup.sh damacy             the workspace, and the Python package on .venv's path
#   setup.sh wheel              the Python wheel, tried in an environment of its own
#   setup.sh node FOLDER...     Node (checked) and npm, and what each folder's package-lock.json names
#   setup.sh chromium           Chromium, unless CHROMIUM names one
#
# Called by make, which sets the environment of builds. Debian packages are installed only as root on a Debian-like
# system; elsewhere the missing tool is named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

say() { printf '== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
# A program: `command -v` would find the functions below too.
have() { type -P "$1" >/dev/null; }

# debian WHAT PACKAGE...: installs the packages, or says that WHAT is missing.
debian() {
    local what=$1
    shift
    have apt-get && [ "$(id -u)" = 0 ] || fail "$what is missing; install it (on Debian: apt-get install $*)"
    say "installing $what (Debian: $*)"
    export DEBIAN_FRONTEND=noninteractive
    # One at a time: make -j and .ci/run install side by side.
    flock "${TMPDIR:-/tmp}/damacy-apt.lock" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' apt "$@" \
        </dev/null >/dev/null || fail "apt-get could not install $*"
}

tools() {
    have cargo || fail "cargo is missing; install Rust 1.95 or newer with rustup"
    have cc || debian "a C compiler" gcc libc6-dev
}

# valgrind's memcheck needs the symbols of the C library.
c() {
    local tool
    for tool in cc g++ nm pkg-config valgrind; do
        have "$tool" && continue
        debian "$tool" gcc g++ libc6-dev libc6-dbg binutils pkg-config valgrind
        return
    done
}
cxx() { have c++ || debian "a C++ compiler" g++; }

# The packages that the committed component was built with; another toolchain gives other bytes.
wasm() {
    [ -x /usr/bin/wasm-ld-22 ] && [ -x /usr/bin/cargo ] && compgen -G '/usr/src/rustc-*/library' >/dev/null && return
    debian "the wasm toolchain" rustc-web cargo-web rust-web-src rust-web-llvm lld-22
}

aarch64() {
    local target=aarch64-unknown-linux-gnu
    if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
        have rustup || fail "Rust's standard library for $target is missing, and rustup, which would install it"
        say "installing Rust's standard library for $target"
        rustup target add "$target" >/dev/null 2>&1 || fail "rustup could not install it: rustup target add $target"
    fi
    have aarch64-linux-gnu-gcc && have qemu-aarch64-static && return
    debian "a linker and an emulator for aarch64" gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
}

miri() {
    cargo +nightly miri --version >/dev/null 2>&1 && [ -d "$(rustc +nightly --print sysroot)/lib/rustlib/src" ] && return
    have rustup || fail "miri is missing, and rustup, which would install it"
    say "installing miri of the nightly toolchain"
    rustup toolchain install nightly --profile minimal --component miri,rust-src >/dev/null 2>&1 \
        || fail "rustup could not install it: rustup toolchain install nightly --component miri,rust-src"
}

python_311() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if have "$candidate" && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

venv() {
    local python name file stamp
    if [ ! -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        python_311 >/dev/null || debian "Python 3.11 or newer" python3 python3-venv
        python=$(python_311) || fail "Python 3.11 or newer is needed; set PYTHON=/path/to/python"
        say "making .venv with $("$python" --version)"
        rm -rf .venv
        if ! "$python" -m venv .venv 2>/dev/null; then
            debian "Python's venv module" python3-venv
            "$python" -m venv .venv
        fi
    fi
    for name in "$@"; do
        file=python/requirements-$name.txt
        stamp=.venv/.installed-$name-$(cat python/requirements-*.txt | sha256sum | cut -c1-16)
        [ -e "$stamp" ] && continue
        say "installing $file into .venv"
        .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$file" </dev/null
        touch "$stamp"
    done
}

# The whole workspace, with the features that its tests use, so that nothing heavy is compiled twice; then the package
# is put on .venv's path from where its sources are.
damacy() {
    local package=$PWD/python/python
    say "building (the first build compiles wasmtime and takes some minutes)"
    cargo build --release --locked --quiet --workspace --lib --bins --examples
    cp "$CARGO_TARGET_DIR/release/lib_native.so" "$package/damacy/.new.so"
    mv "$package/damacy/.new.so" "$package/damacy/_native.abi3.so"
    printf '%s\n' "$package" >"$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')/damacy.pth"
}

# wheel_holds WHEEL: fails unless it serves every Python from 3.11 on and ships its types.
wheel_holds() {
    local file
    case $1 in
        *-cp311-abi3-*.whl) ;;
        *) fail "${1##*/} is no abi3 wheel" ;;
    esac
    for file in damacy/py.typed damacy/_native.pyi damacy/_native.abi3.so; do
        .venv/bin/python -c 'import sys, zipfile; sys.exit(sys.argv[2] not in zipfile.ZipFile(sys.argv[1]).namelist())' \
            "$1" "$file" || fail "${1##*/} lacks $file"
    done
}

# The wheel by its own build backend, in a folder and an environment of its own.
wheel() {
    say "building the wheel with pip"
    rm -rf .cache/wheel-venv target/wheels
    env -u PYO3_NO_PYTHON -u PYO3_BUILD_EXTENSION_MODULE .venv/bin/python -m pip wheel \
        --quiet --disable-pip-version-check --no-deps -w target/wheels ./python </dev/null
    wheel_holds target/wheels/damacy-*.whl
    .venv/bin/python -m venv .cache/wheel-venv
    .cache/wheel-venv/bin/pip install --quiet --disable-pip-version-check target/wheels/damacy-*.whl </dev/null
    (cd .cache && wheel-venv/bin/python -c \
        'import damacy; assert damacy.convert([300], "u8")[0] == 255; print("imported from", damacy.__file__)')
}

node_version() { have node && have npm && node --version; }

# npm's cache stays in the tree; packages' own install scripts are not needed, and not run.
node_packages() {
    local folder stamp version
    node_version >/dev/null || debian "Node or npm" nodejs npm
    version=$(node_version) || fail "node and npm are needed, 20 or newer"
    [ "$(cut -d. -f1 <<<"${version#v}")" -ge 20 ] \
        || fail "Node 20 or newer is needed, this is $version (Debian 12 has 18): install one from nodejs.org, or Debian 13's"
    for folder in "$@"; do
        stamp=$folder/node_modules/.installed-$(sha256sum <"$folder/package-lock.json" | cut -c1-16)
        [ -e "$stamp" ] && continue
        say "installing $folder's packages with npm"
        (cd "$folder" && npm_config_cache=$OLDPWD/.cache/npm npm ci --ignore-scripts --no-audit --no-fund --loglevel error </dev/null >/dev/null)
        touch "$stamp"
    done
}

chromium() { [ -n "${CHROMIUM:-}" ] || have chromium || debian "Chromium (or CHROMIUM=/path/to/one)" chromium; }

step=${1:-}
case $step in
    tools | c | cxx | wasm | aarch64 | miri | damacy | wheel | chromium) "$step" ;;
    venv) shift && venv "$@" ;;
    node) shift && node_packages "$@" ;;
    *) fail "usage: setup.sh tools | c | cxx | wasm | aarch64 | miri | venv NAME... | damacy | wheel | node FOLDER... | chromium" ;;
esac

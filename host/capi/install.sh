#!/usr/bin/env bash
# Installs the C interface that cargo has built: install.sh PREFIX [LIBRARIES]
#
#   PREFIX      include/damacy.h, lib/libdamacy.{so,so.0,so.VERSION,a}, lib/pkgconfig/damacy.pc go below it
#   LIBRARIES   where cargo put them (default: $CARGO_TARGET_DIR/release, else target/release)
#   DESTDIR     in the environment: put before PREFIX, for packages
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
prefix=${1:?usage: install.sh PREFIX [LIBRARIES]}
libraries=${2:-${CARGO_TARGET_DIR:-$root/target}/release}
to=${DESTDIR:-}$prefix
for file in libdamacy.so libdamacy.a; do
    [ -e "$libraries/$file" ] || { echo "error: $libraries/$file is missing; make test-c builds it" >&2; exit 1; }
done
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -1)

install -d "$to/include" "$to/lib/pkgconfig"
install -m 644 "$root/host/include/damacy.h" "$to/include/damacy.h"
install -m 755 "$libraries/libdamacy.so" "$to/lib/libdamacy.so.$version"
install -m 644 "$libraries/libdamacy.a" "$to/lib/libdamacy.a"
if command -v strip >/dev/null; then
    strip --strip-unneeded "$to/lib/libdamacy.so.$version"
    strip --strip-debug "$to/lib/libdamacy.a"
fi
ln -sf "libdamacy.so.$version" "$to/lib/libdamacy.so.0"
ln -sf libdamacy.so.0 "$to/lib/libdamacy.so"
# Relative to itself, so that the folder can be moved.
cat >"$to/lib/pkgconfig/damacy.pc" <<END
prefix=\${pcfiledir}/../..
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: damacy
Description: Training batches out of Zarr arrays, in the element type the model wants
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -ldamacy
Libs.private: -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
END

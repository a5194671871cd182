#!/usr/bin/env bash
# Whether a folder made by `make device-check` can be carried and run: verify.sh FOLDER
#
# Less than 50 MiB; the program and damacy's module ask for no symbol of a glibc newer than 2.36 and for no library beside
# its own; the wheel is of the stable ABI; nothing of the build's folders is in it.
set -euo pipefail
folder=$1
fail() { echo "device-check: $*" >&2; exit 1; }

mebibytes=$(du -sm "$folder" | cut -f1)
[ "$mebibytes" -lt 50 ] || fail "$mebibytes MiB in $folder are too many to carry (less than 50)"

unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
python3 -m zipfile -e "$folder"/damacy-*.whl "$unpacked"
case $(basename "$folder"/damacy-*.whl) in
    *-cp311-abi3-*) ;;
    *) fail "the wheel is not of Python's stable ABI: $(basename "$folder"/damacy-*.whl)" ;;
esac
for file in "$folder/damacy-device-check" "$unpacked"/damacy/*.so; do
    newest=$(objdump -T "$file" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
    [ "$(printf 'GLIBC_2.36\n%s\n' "$newest" | sort -V | tail -1)" = GLIBC_2.36 ] || fail "$(basename "$file") needs $newest"
    others=$(objdump -p "$file" | awk '$1 == "NEEDED" {print $2}' | grep -vE '^(libc|libm|libgcc_s|libdl|libpthread|librt|ld-linux-x86-64)\.so' || true)
    [ -z "$others" ] || fail "$(basename "$file") needs $others"
    if objdump -p "$file" | grep -qE 'RUNPATH|RPATH'; then fail "$(basename "$file") looks for libraries in folders of the build"; fi
    echo "== $(basename "$file"): symbols up to $newest"
done
ls "$folder"/wheels/numpy-*-cp312-*.whl "$folder"/wheels/ml_dtypes-*-cp312-*.whl >/dev/null
echo "== $mebibytes MiB in $folder"

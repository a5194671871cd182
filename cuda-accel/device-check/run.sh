#!/usr/bin/env bash
# Checks damacy on this machine's GPU: run.sh [RESULTS FOLDER] [--rehearse]
#
# Carries what it needs (`make device-check` puts it together): the program, the wheel, device-check.py, numpy and ml_dtypes
# for Python 3.12. Needs a GPU with its driver and glibc 2.36 or newer; for the Python part Python 3.12, or 3.11 and newer
# with numpy and ml_dtypes; torch, if there, is checked too. Leaves gpu.json, python.json and log.txt in the folder
# (./results), written after each part. Ends with 0 if all checks passed, 1 if one did not, 2 if there is no GPU. Each half
# is ended after its time, and the other one runs all the same: five minutes in all. --rehearse tries everything out in small
# sizes: the program on whatever libcuda.so.1 is found, the Python part on the CPU.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
results=results
rehearse=()
for argument in "$@"; do
    if [ "$argument" = --rehearse ]; then rehearse=(--rehearse); else results=$argument; fi
done
mkdir -p "$results" || exit 1
exec > >(tee "$results/log.txt") 2>&1

# Where containers mount the driver without telling the loader.
for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
    if [ -e "$folder/libcuda.so.1" ]; then export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"; fi
done
if command -v nvidia-smi >/dev/null; then
    timeout -k 5 20 nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,pcie.link.gen.current,pcie.link.width.current \
        --format=csv
fi

# Modes may be lost on the way here. A program that the driver keeps from ending gets another signal.
chmod u+x "$here/damacy-device-check" 2>/dev/null
echo "== the program"
timeout -k 5 180 "$here/damacy-device-check" "${rehearse[@]}" --json "$results/gpu.json"
program=$?
case $program in
    124 | 137) echo "the program did not end within 180 seconds" && program=1 ;;
esac

echo
echo "== Python"
python=${PYTHON:-}
for candidate in python3.12 python3 python3.13 python3.11; do
    if [ -z "$python" ] && command -v "$candidate" >/dev/null; then python=$candidate; fi
done
code=0
if [ -z "$python" ] || ! command -v "$python" >/dev/null; then
    echo "skipped: there is no ${python:-python3} here"
else
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    # A wheel is an archive of what is imported. What Python has itself, torch's numpy say, stays in use.
    "$python" -m zipfile -e "$here"/damacy-*.whl "$site"
    for package in numpy ml_dtypes; do
        "$python" -c "import $package" 2>/dev/null && continue
        "$python" -m zipfile -e "$here"/wheels/$package-*.whl "$site"
    done
    PYTHONPATH=$site timeout -k 5 110 "$python" "$here/device-check.py" "${rehearse[@]}" --json "$results/python.json"
    code=$?
    case $code in
        124 | 137) echo "the Python part did not end within 110 seconds" && code=1 ;;
    esac
fi

[ "$program" -ne 0 ] && exit "$program"
exit "$code"

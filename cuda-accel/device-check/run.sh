#!/usr/bin/env bash
# Checks damacy on this machine's GPU: run.sh [RESULTS FOLDER] [--rehearse]
#
# Carries what it needs (`make device-check` puts it together): the program, the wheel, device-check.py. Needs a GPU with
# its driver and glibc 2.34 or newer; for the Python part also Python 3.11 or newer with numpy, ml_dtypes and torch.
# Leaves gpu.json, python.json and log.txt in the folder (./results). Ends with 0 if all checks passed, 1 if one did not,
# 2 if there is no GPU. --rehearse tries everything out in small sizes: the program on whatever libcuda.so.1 is found, the
# Python part on the CPU.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
results=results
rehearse=()
for argument in "$@"; do
    if [ "$argument" = --rehearse ]; then rehearse=(--rehearse); else results=$argument; fi
done
mkdir -p "$results"
exec > >(tee "$results/log.txt") 2>&1

# Where containers mount the driver without telling the loader.
for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
    if [ -e "$folder/libcuda.so.1" ]; then export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"; fi
done
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,pcie.link.gen.current,pcie.link.width.current --format=csv
fi

echo "== the program"
timeout 180 "$here/damacy-device-check" "${rehearse[@]}" --json "$results/gpu.json"
program=$?
[ "$program" -eq 124 ] && echo "the program did not end within 180 seconds"

echo
echo "== Python"
python=${PYTHON:-python3}
code=0
if ! command -v "$python" >/dev/null; then
    echo "skipped: there is no $python here"
else
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    # A wheel is an archive of what is imported.
    "$python" -m zipfile -e "$here"/damacy-*.whl "$site"
    PYTHONPATH=$site timeout 100 "$python" "$here/device-check.py" "${rehearse[@]}" --json "$results/python.json"
    code=$?
    [ "$code" -eq 124 ] && echo "the Python part did not end within 100 seconds"
fi

[ "$program" -ne 0 ] && exit "$program"
exit "$code"

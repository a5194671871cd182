"""How much resident memory this process takes beyond what it took after its start, by Linux's /proc."""

from __future__ import annotations

from pathlib import Path


def resident() -> int | None:
    """Bytes now; None where the system does not tell."""
    return status("VmRSS")


def forget_peak() -> bool:
    """The peak is now what is resident; false where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_above(start: int | None) -> int | None:
    """The peak since it was forgotten, less what was resident after the start. What the heap has kept meanwhile counts."""
    peak = status("VmHWM")
    return None if start is None or peak is None else max(0, peak - start)


def status(field: str) -> int | None:
    """Bytes of a field of /proc/self/status."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), None)

"""How far the resident memory of this process rises, by Linux's /proc."""

from __future__ import annotations

from pathlib import Path


class Growth:
    """Counts from here on."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is resident
        except OSError:
            self.before = None
        else:
            self.before = status_kib("VmRSS")

    def bytes(self) -> int | None:
        """The peak above the start; None where the system does not tell."""
        return None if self.before is None else max(0, status_kib("VmHWM") - self.before) * 1024


def status_kib(field: str) -> int:
    """A field of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))

"""What a call of a pool took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Used:
    """What a call took.

    Attributes:
        run_s: Seconds that it ran.
        wait_s: Seconds that it waited.
        memory_bytes: Its memory in the sandbox.
        fuel: Its fuel, where it is counted.
    """

    run_s: float
    wait_s: float
    memory_bytes: int
    fuel: int | None

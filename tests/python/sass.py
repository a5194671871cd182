"""What the flat kernels become on an H200: committed PTX -> ptxas and nvdisasm -> instructions and the pipe that they fill.

This is arithmetic with NVIDIA's figures, not a measurement: of each kernel the block that a thread runs for whole, aligned
units, each instruction on the pipe that executes it, and the bytes a second at which the busiest pipe is full.
"""

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ARCHITECTURE = 90
# An H200: multiprocessors, a clock that it holds under load (its boost clock is 1.98 GHz), memory bandwidth in bytes/s.
MULTIPROCESSORS, CLOCK, MEMORY = 132, 1.75e9, 4.8e12
# Threads' instructions that a multiprocessor starts in a cycle: four schedulers issue one for 32 threads each; behind them
# each pipe takes so many (CUDA programming guide, "Throughput of native arithmetic instructions", 9.0; float sums and
# products go to a second pipe of 64 as well).
ISSUED, PIPES = 128, {"integer": 64, "multiply": 64, "convert": 16}
# By the first word of the opcode; what is not named is integer arithmetic, logic, comparison or selection.
PIPE_OF = {
    **dict.fromkeys(("IMAD", "IMUL"), "multiply"),
    **dict.fromkeys(("I2F", "F2I", "F2F", "MUFU"), "convert"),
    **dict.fromkeys(("FMUL", "FADD", "FFMA"), "float"),
    **dict.fromkeys(("LDG", "STG", "LDC", "S2R"), "memory"),
    **dict.fromkeys(("BRA", "BRX", "EXIT", "BSSY", "BSYNC", "NOP"), "control"),
}


@dataclass
class Machine:
    """A flat kernel's aligned block as machine code."""

    stores: int
    instructions: int
    pipes: Counter

    def cycles(self) -> tuple[float, str]:
        """Cycles of a multiprocessor for a thread's block, and what takes them."""
        taken = {pipe: self.pipes[pipe] / rate for pipe, rate in PIPES.items()}
        taken["float"] = (self.pipes["float"] + self.pipes["multiply"]) / 128
        taken["issue"] = self.instructions / ISSUED
        return max((cycles, name) for name, cycles in taken.items())

    def ceiling(self, bytes_moved: int) -> tuple[float, str]:
        """The bandwidth at which the busiest pipe is full, the memory's being 1, and that pipe."""
        cycles, name = self.cycles()
        return bytes_moved / cycles * MULTIPROCESSORS * CLOCK / MEMORY, name


def disassemble(ptx: Path, tools: Path) -> str:
    """Machine code for [`ARCHITECTURE`]."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "damacy.cubin"
        subprocess.run([tools / "ptxas", f"-arch=sm_{ARCHITECTURE}", ptx, "-o", cubin], check=True)
        return subprocess.run([tools / "nvdisasm", "-c", cubin], capture_output=True, text=True, check=True).stdout


def blocks(listing: str) -> dict[str, list[list[str]]]:
    """Name of each kernel -> its basic blocks of opcodes."""
    found: dict[str, list[list[str]]] = {}
    current: list[list[str]] = []
    for line in listing.splitlines():
        if name := re.match(r"\s*\.text\.(\w+):", line):
            current = found.setdefault(name[1], [[]])
        elif re.match(r"\.L_x_\d+:", line):
            current.append([])
        elif code := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)", line):
            current[-1].append(code[1])
            if code[1] in ("BRA", "BRX", "EXIT"):
                current.append([])
    return found


def aligned(kernel: list[list[str]]) -> Machine:
    """The block that stores the most: a round of whole, aligned units."""
    block = max(kernel, key=lambda block: block.count("STG"))
    # Instructions of the uniform datapath are issued like others, and take no pipe of the threads.
    pipes = Counter("uniform" if op[0] == "U" else PIPE_OF.get(op, "integer") for op in block)
    return Machine(block.count("STG"), len(block), pipes)

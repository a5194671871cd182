"""The table of the GPU kernels: committed PTX and ptxas -> docs/gpu/kernels.md.

`python tests/python/kernel_table.py` rewrites the document. Counts come from the PTX: of each flat kernel the block that a
thread runs for whole, aligned units. Registers and spills are what ptxas reports for each architecture, machine code is what
nvdisasm shows (`sass.py`).
"""

import re
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import sass

ROOT = Path(__file__).parents[2]
PTX = ROOT / "cuda-accel" / "prebuilt" / "damacy.ptx"
DOCUMENT = ROOT / "docs" / "gpu" / "kernels.md"
TOOLS = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin"
PTXAS = TOOLS / "ptxas"
ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
SOURCES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "f32": 4}
OUTPUTS = {"f32": 4, "bf16": 2, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
# Units that a thread converts in a round of a flat kernel's loop.
UNITS = 4
# Registers of a multiprocessor, the same for all these architectures, and threads of a block.
REGISTERS, BLOCK = 65536, 256


@dataclass
class Access:
    """One load or store of the aligned block."""

    opcode: str
    bytes: int


@dataclass
class Aligned:
    """What a thread executes for `elements` elements on the aligned path."""

    elements: int
    loads: list[Access]
    stores: list[Access]
    conversions: int
    instructions: int


def entries(ptx: str) -> dict[str, list[list[str]]]:
    """Name of each entry -> its basic blocks."""
    found = {}
    for text in ptx.split(".visible .entry ")[1:]:
        blocks: list[list[str]] = [[]]
        for line in map(str.strip, text[text.index("{") + 1 :].splitlines()):
            if re.fullmatch(r"\$L\w+:", line):
                blocks.append([])
            elif line.endswith(";") and not line.startswith("."):
                blocks[-1].append(line)
                if re.match(r"(@\S+\s+)?(bra|ret|brx)\b", line):
                    blocks.append([])
        found[text[: text.index("(")]] = blocks
    return found


def access(instruction: str) -> Access:
    """`ld.global.v2.b64 ...` -> 16 bytes."""
    opcode = instruction.split()[0]
    vector = re.search(r"\.v(\d)", opcode)
    bits = re.search(r"\.[a-z](\d+)$", opcode)
    return Access(opcode, int(vector[1] if vector else 1) * int(bits[1]) // 8)


def aligned(blocks: list[list[str]], source: str, output: str) -> Aligned:
    """The block of a flat kernel that writes the most: a round of whole, aligned units."""
    block = max(blocks, key=lambda block: sum("st.global" in line for line in block))
    stores = [access(line) for line in block if line.startswith("st.")]
    return Aligned(
        elements=UNITS * (8 if OUTPUTS[output] < SOURCES[source] else 16) // OUTPUTS[output],
        loads=[access(line) for line in block if line.startswith("ld.")],
        stores=stores,
        conversions=sum(line.startswith(("cvt.rn", "cvt.rzi")) for line in block),
        instructions=len(block),
    )


@dataclass
class Resources:
    """What ptxas reports for an entry."""

    registers: int
    stack: int
    spills: int


def assemble(architecture: int) -> dict[str, Resources]:
    """Assembles the PTX for an architecture."""
    command = [PTXAS, "-v", f"-arch=sm_{architecture}", PTX, "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Resources] = {}
    pattern = (
        r"Compiling entry function '(\w+)' for.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
        r".*?Used (\d+) registers"
    )
    for name, stack, stores, loads, registers in re.findall(pattern, done.stderr + done.stdout, re.DOTALL):
        found[name] = Resources(int(registers), int(stack), int(stores) + int(loads))
    return found


def assemble_all() -> dict[int, dict[str, Resources]]:
    """Assembles for all architectures, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(ARCHITECTURES, pool.map(assemble, ARCHITECTURES), strict=True))


def ptxas_version() -> str:
    """`V13.5.37` or the like."""
    shown = subprocess.run([PTXAS, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"\bV([\d.]+)", shown)[1]


def grouped(accesses: list[Access]) -> str:
    """`4 x 16`, the bytes of accesses that are all alike."""
    widths = sorted({access.bytes for access in accesses})
    return " + ".join(f"{sum(a.bytes == width for a in accesses)} x {width}" for width in widths)


def counts_table(ptx: str) -> str:
    """A row a pair."""
    rows = [
        "| pair | elements | loads x bytes | stores x bytes | loads | stores | conversions | instructions |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    blocks = entries(ptx)
    for source in SOURCES:
        for output in OUTPUTS:
            one = aligned(blocks[f"damacy_convert_{source}_{output}"], source, output)
            per = [len(one.loads), len(one.stores), one.conversions, one.instructions]
            figures = " | ".join(f"{count / one.elements:.3g}" for count in per)
            rows.append(
                f"| {source} -> {output} | {one.elements} | {grouped(one.loads)} | {grouped(one.stores)} | {figures} |"
            )
    return "\n".join(rows)


def machine_code() -> dict[str, sass.Machine]:
    """Name of each flat kernel -> its aligned block on an H200."""
    kernels = sass.blocks(sass.disassemble(PTX, TOOLS))
    return {name: sass.aligned(kernel) for name, kernel in kernels.items() if "_convert_" in name}


def ceiling(machine: dict[str, sass.Machine], source: str, output: str) -> tuple[float, str]:
    """The bandwidth of an H200's memory being 1, what the pair's instructions allow, and the pipe that is full then."""
    one = machine[f"damacy_convert_{source}_{output}"]
    elements = one.stores * (8 if OUTPUTS[output] < SOURCES[source] else 16) // OUTPUTS[output]
    return one.ceiling(elements * (SOURCES[source] + OUTPUTS[output]))


def ceilings_table(machine: dict[str, sass.Machine]) -> str:
    """A row a source, a column an output."""
    rows = ["| from | " + " | ".join(OUTPUTS) + " |", "| --- |" + " ---: |" * len(OUTPUTS)]
    for source in SOURCES:
        rows.append(f"| {source} | " + " | ".join(f"{ceiling(machine, source, o)[0]:.2f}" for o in OUTPUTS) + " |")
    return "\n".join(rows)


def lowest_table(machine: dict[str, sass.Machine], count: int) -> str:
    """The pairs that come nearest to being bound by instructions."""
    rows = [
        "| pair | ceiling | full then | instructions | integer | multiply | float | convert |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    pairs = sorted((ceiling(machine, source, output), source, output) for source in SOURCES for output in OUTPUTS)
    for (limit, pipe), source, output in pairs[:count]:
        one = machine[f"damacy_convert_{source}_{output}"]
        elements = one.stores * (8 if OUTPUTS[output] < SOURCES[source] else 16) // OUTPUTS[output]
        counts = [one.instructions] + [one.pipes[name] for name in ("integer", "multiply", "float", "convert")]
        figures = " | ".join(f"{count / elements:.3g}" for count in counts)
        rows.append(f"| {source} -> {output} | {limit:.2f} | {pipe} | {figures} |")
    return "\n".join(rows)


def registers_table(resources: dict[int, dict[str, Resources]]) -> str:
    """A row an assembly kernel, and one for the flat kernels."""
    rows = [
        "| kernel | " + " | ".join(f"sm_{arch}" for arch in ARCHITECTURES) + " |",
        "| --- |" + " ---: |" * len(ARCHITECTURES),
    ]
    for output in OUTPUTS:
        name = f"damacy_assemble_{output}"
        rows.append(f"| {name} | " + " | ".join(str(resources[a][name].registers) for a in ARCHITECTURES) + " |")
    flat = {a: [r.registers for n, r in resources[a].items() if "_convert_" in n] for a in ARCHITECTURES}
    rows.append("| flat, the least | " + " | ".join(str(min(flat[a])) for a in ARCHITECTURES) + " |")
    rows.append("| flat, the most | " + " | ".join(str(max(flat[a])) for a in ARCHITECTURES) + " |")
    return "\n".join(rows)


def document(ptx: str, resources: dict[int, dict[str, Resources]], machine: dict[str, sass.Machine]) -> str:
    """The whole page."""
    most = max(r.registers for r in resources[90].values())
    return f"""# The GPU kernels in numbers

Made by `.venv/bin/python tests/python/kernel_table.py` from `cuda-accel/prebuilt/damacy.ptx`; tests compare it with
the file. What the kernels do is described in [how-kernels-work.md](how-kernels-work.md). Nothing here was measured on
a GPU.

The PTX has {len(ptx.encode()):,} bytes and {len(entries(ptx))} kernels, in PTX ISA {re.search(r".version (.*)", ptx)[1]}.

## Registers

By ptxas {ptxas_version()}, which reports no spills and no stack for any kernel and architecture. With {most} registers
a multiprocessor holds {REGISTERS // (BLOCK * -(-most // 8) * 8)} blocks of {BLOCK} threads.

{registers_table(resources)}

## Instructions of the flat kernels on the aligned path

What a thread executes for {UNITS} units: its accesses with their bytes, then counts for each element: loads, stores,
conversions between integer and float, PTX instructions of all kinds. Where a load's bytes are more than the elements
need, neighbouring threads read the same bytes, in the same access of the warp.

{counts_table(ptx)}

## What instructions allow on an H200

Arithmetic, not a measurement: ptxas's machine code for sm_{sass.ARCHITECTURE}, each instruction of the aligned path on the pipe that
executes it. An H200 has {sass.MULTIPROCESSORS} multiprocessors, taken at {sass.CLOCK / 1e9:.2f} GHz; each starts {sass.ISSUED} threads' instructions a cycle, of
which {sass.PIPES["integer"]} may be integer arithmetic, logic, comparisons and selections, {sass.PIPES["multiply"]} integer multiply-adds, and {sass.PIPES["convert"]} conversions on
the pipe for those. The *ceiling* is the bandwidth (read + written) at which the first of these is full, over the
{sass.MEMORY / 1e12:.1f} TB/s of the memory: below 1 a pair is bound by its instructions, however well it is scheduled; above, by memory. A
device-to-device copy stays below {sass.MEMORY / 1e12:.1f} TB/s too. A pair whose ceiling is 1 needs every slot of a pipe, so those near 1 may
miss 0.85 of a copy; only a GPU can tell.

{ceilings_table(machine)}

The lowest, with instructions for each element:

{lowest_table(machine, 12)}
"""


def main() -> None:
    """Rewrites the document."""
    DOCUMENT.parent.mkdir(parents=True, exist_ok=True)
    DOCUMENT.write_text(document(PTX.read_text(), assemble_all(), machine_code()))


if __name__ == "__main__":
    main()

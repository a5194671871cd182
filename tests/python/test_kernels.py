"""The committed GPU kernels as ptxas sees them, and the instructions of their aligned paths."""

import sys

import kernel_table as table
import pytest
import sass

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ptxas is packaged for Linux")


@pytest.fixture(scope="module")
def resources() -> dict[int, dict[str, table.Resources]]:
    return table.assemble_all()


@pytest.fixture(scope="module")
def ptx() -> str:
    return table.PTX.read_text()


@pytest.fixture(scope="module")
def kernels(ptx) -> dict[str, list[list[str]]]:
    return table.entries(ptx)


@pytest.fixture(scope="module")
def machine() -> dict[str, sass.Machine]:
    return table.machine_code()


@pytest.mark.parametrize("architecture", table.ARCHITECTURES)
def test_ptxas_reports_no_spills_and_no_local_memory(resources, architecture):
    found = resources[architecture]
    assert len(found) == 110
    for name, one in found.items():
        assert (one.stack, one.spills) == (0, 0), name
        # 64 registers: four blocks of 256 threads on a multiprocessor.
        assert one.registers <= 64, f"{name} uses {one.registers} registers"


@pytest.mark.parametrize("source", table.SOURCES)
@pytest.mark.parametrize("output", table.OUTPUTS)
def test_aligned_path_is_wide(kernels, source, output):
    one = table.aligned(kernels[f"damacy_convert_{source}_{output}"], source, output)
    assert len(one.stores) == table.UNITS
    assert sum(access.bytes for access in one.stores) == one.elements * table.OUTPUTS[output]
    assert sum(access.bytes for access in one.loads) >= one.elements * table.SOURCES[source]
    assert all(access.bytes in (8, 16) for access in one.loads + one.stores)
    # Where neither side is narrower than the other, all accesses are of 16 bytes.
    if table.OUTPUTS[output] == table.SOURCES[source]:
        assert {access.bytes for access in one.loads + one.stores} == {16}


def test_assembly_kernels_read_and_write_wide_too(kernels):
    for output, width in table.OUTPUTS.items():
        blocks = kernels[f"damacy_assemble_{output}"]
        stores = [table.access(line) for block in blocks for line in block if line.startswith("st.")]
        # Whole units for two units of each of ten sources; single elements in loops.
        assert sum(access.bytes >= 8 for access in stores) >= 20
        assert all(access.bytes in (8, 16, width) for access in stores)


@pytest.mark.parametrize("source", table.SOURCES)
@pytest.mark.parametrize("output", table.OUTPUTS)
def test_memory_bounds_each_pair_on_an_h200_and_not_its_instructions(machine, source, output):
    assert machine[f"damacy_convert_{source}_{output}"].stores == table.UNITS
    limit, pipe = table.ceiling(machine, source, output)
    assert limit >= 1, f"{pipe} is full at {limit:.2f} of the memory's bandwidth"


def test_a_copy_has_next_to_no_instructions_and_the_arithmetic_is_right(machine):
    """u8 -> u8 is a copy; a block of 128 integer instructions takes two cycles, and 128 of others one."""
    assert machine["damacy_convert_u8_u8"].instructions < 20
    integers = sass.aligned([["STG"], ["LOP3"] * 127 + ["STG", "STG"]])
    assert (integers.stores, integers.instructions, integers.cycles()) == (2, 129, (127 / 64, "integer"))
    assert sass.aligned([["STG"] + ["FMUL"] * 127]).cycles()[0] == 1
    assert sass.aligned([["STG"] + ["I2F"] * 16]).cycles() == (1, "convert")
    expected = 64 * 132 * 1.75e9 / 4.8e12
    assert sass.aligned([["STG"] + ["ISETP"] * 64]).ceiling(64) == (pytest.approx(expected), "integer")


def test_document_is_what_the_ptx_gives(ptx, resources, machine):
    """Run tests/python/kernel_table.py after building the PTX anew."""
    assert table.DOCUMENT.read_text() == table.document(ptx, resources, machine)


def test_narrow_access_would_be_noticed(ptx):
    """The parser sees widths: a narrower load in the same block changes what it finds."""
    name = "damacy_convert_u16_f32"
    narrowed = ptx.replace("ld.global.v2.b32", "ld.global.b32")
    one = table.aligned(table.entries(narrowed)[name], "u16", "f32")
    assert {access.bytes for access in one.loads} == {4}

"""damacy.convert gives the judged bits: every vector, and every bit pattern of the narrow sources."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from damacy import Dtype, convert

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "vectors"
SOURCES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "i8": "<i1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
           "f16": "<f2", "f32": "<f4"}  # fmt: skip
PAIRS = [json.loads(line) for line in (VECTORS / "pairs.jsonl").read_text().splitlines()]
SUMS = json.loads((VECTORS / "exhaustive.json").read_text())


@pytest.mark.parametrize("engine", ["native", "sandbox"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['src']}-{pair['dst']}")
def test_vectors(pair, engine):
    source = np.frombuffer(bytes.fromhex(pair["in"]), SOURCES[pair["src"]])
    swapped = source.byteswap().view(source.dtype.newbyteorder(">"))
    for array in (source, swapped):
        assert convert(array, pair["dst"], engine=engine).tobytes().hex() == pair["out"]


@pytest.mark.parametrize("engine", ["native", "sandbox"])
@pytest.mark.parametrize("pair", SUMS)
def test_exhaustive_sums(pair, engine):
    src, dst = pair.split("->")
    dtype = np.dtype(SOURCES[src])
    source = np.arange(1 << (8 * dtype.itemsize), dtype=f"<u{dtype.itemsize}").view(dtype)
    assert hashlib.sha256(convert(source, dst, engine=engine).tobytes()).hexdigest() == SUMS[pair]


def test_there_is_a_vector_for_every_pair():
    assert {(pair["src"], pair["dst"]) for pair in PAIRS} == {(s, d.short_name) for s in SOURCES for d in Dtype}

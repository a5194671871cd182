"""Damaged chunk files surface as DecodeError or StorageError that names the file; a few spot checks from Python."""

import gzip
import shutil

import damacy
import judge
import numpy as np
import pytest
import zarr
from zarr.codecs import Crc32cCodec, GzipCodec, ZstdCodec

SHAPE = CROP = (16, 16)
CODECS = {"none": None, "zstd": ZstdCodec(level=3), "gzip": GzipCodec(level=5),
          "zstd then crc32c": [ZstdCodec(level=3), Crc32cCodec()]}


def one_chunk(store, codec):
    """An array of one chunk; returns the chunk's file."""
    array = zarr.create_array(store, shape=SHAPE, chunks=SHAPE, dtype="uint16", compressors=CODECS[codec])
    array[:] = np.random.default_rng(0).integers(1, 1 << 12, SHAPE, dtype="uint16")
    return store / "c" / "0" / "0"


def assert_names(error, kinds, path):
    assert isinstance(error, kinds) and path.relative_to(path.parents[3]).as_posix() in str(error), repr(error)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("codec", CODECS)
def test_a_truncated_chunk(store, codec, keep):
    path = one_chunk(store, codec)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    assert_names(judge.pop_error(store, CROP), (damacy.DecodeError, damacy.StorageError), path)


def test_a_chunk_with_bytes_to_spare(store):
    path = one_chunk(store, "none")
    path.write_bytes(path.read_bytes() + b"x")
    assert_names(judge.pop_error(store, CROP), damacy.DecodeError, path)


def test_a_flipped_bit_under_a_checksum(store):
    path = one_chunk(store, "zstd then crc32c")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    assert_names(judge.pop_error(store, CROP), damacy.DecodeError, path)


def test_a_stream_that_inflates_past_its_chunk(store):
    path = one_chunk(store, "gzip")
    path.write_bytes(gzip.compress(bytes(64 << 20)))
    assert_names(judge.pop_error(store, CROP), damacy.DecodeError, path)


def test_a_folder_in_the_place_of_a_chunk(store):
    path = one_chunk(store, "none")
    path.unlink()
    path.mkdir()
    assert_names(judge.pop_error(store, CROP), damacy.StorageError, path)


@pytest.mark.parametrize("damage", ["truncated", "index"])
def test_a_damaged_shard(store, damage):
    array = zarr.create_array(store, shape=SHAPE, chunks=(4, 4), shards=SHAPE, dtype="uint16")
    array[:] = np.random.default_rng(0).integers(1, 1 << 12, SHAPE, dtype="uint16")
    path = store / "c" / "0" / "0"
    data = bytearray(path.read_bytes())
    if damage == "truncated":
        data = data[: len(data) // 2]
    else:
        data[-20] ^= 1  # in the index, under its checksum
    path.write_bytes(data)
    assert_names(judge.pop_error(store, CROP), (damacy.DecodeError, damacy.StorageError), path)


def test_earlier_batches_come_out_and_the_error_stays(tmp_path):
    good, bad = tmp_path / "good.zarr", tmp_path / "bad.zarr"
    one_chunk(good, "zstd")
    shutil.copytree(good, bad)
    (bad / "c" / "0" / "0").write_bytes(b"not zstd")
    box = tuple((0, s) for s in SHAPE)
    with damacy.Pipeline(damacy.BatchSpec(1, CROP, "uint16")) as pipeline:
        pipeline.push(damacy.Sample(str(path), box) for path in (good, good, bad, good))
        for _ in range(2):
            pipeline.pop(timeout=judge.TIMEOUT_S).release()
        for _ in range(2):
            with pytest.raises(damacy.DecodeError):
                pipeline.pop(timeout=judge.TIMEOUT_S)

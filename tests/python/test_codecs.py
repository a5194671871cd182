"""Every supported codec, as zarr-python writes it, in both formats; the answers come from zarr-python too."""

import itertools
import json

import judge
import numcodecs
import numpy as np
import pytest
import zarr
import zarr.codecs.numcodecs as v3_numcodecs
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

SHAPE, CHUNKS, CROP = (21, 34, 19), (8, 9, 7), (10, 12, 11)
COMPRESSORS = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")

V3_CODECS = {
    "none": None,
    "zstd": ZstdCodec(level=3),
    "zstd with checksum": ZstdCodec(level=3, checksum=True),
    "zstd, fast level": ZstdCodec(level=-5),
    "gzip": GzipCodec(level=5),
    "gzip, stored": GzipCodec(level=0),
    "zlib": v3_numcodecs.Zlib(level=5),
    "bz2": v3_numcodecs.BZ2(level=5),
    "crc32c": Crc32cCodec(),
    "zstd then crc32c": [ZstdCodec(level=3), Crc32cCodec()],
    "crc32c then gzip": [Crc32cCodec(), GzipCodec(level=5)],
    "gzip then zstd": [GzipCodec(level=5), ZstdCodec(level=3)],
} | {
    f"blosc {name}, {shuffle}": BloscCodec(cname=name, clevel=5, shuffle=shuffle)
    for name, shuffle in itertools.product(COMPRESSORS, ("noshuffle", "shuffle", "bitshuffle"))
}

V2_CODECS = {
    "none": None,
    "zstd": numcodecs.Zstd(level=3),
    "zlib": numcodecs.Zlib(level=5),
    "gzip": numcodecs.GZip(level=5),
    "bz2": numcodecs.BZ2(level=5),
} | {
    f"blosc {name}, {shuffle}": numcodecs.Blosc(name, clevel=5, shuffle=shuffle)
    for name, shuffle in itertools.product(COMPRESSORS, (0, 1, 2))
}


def smooth_values(dtype: str) -> np.ndarray:
    """Compressible, yet different in every element's neighbourhood."""
    ramp = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    return (ramp // 3 + np.random.default_rng(0).integers(0, 4, SHAPE)).astype(dtype)


def check(store, dtype):
    judge.assert_same(store, judge.random_boxes(SHAPE, CROP, 6), ("float32", dtype, "uint8"))


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
@pytest.mark.parametrize("codec", V3_CODECS)
def test_v3_codec(store, codec, dtype):
    array = zarr.create_array(store, shape=SHAPE, dtype=dtype, chunks=CHUNKS, compressors=V3_CODECS[codec])
    array[:] = smooth_values(dtype)
    check(store, dtype)


# What numcodecs compresses with when a document gives no options at all.
V2_DEFAULTS = {
    "zstd": numcodecs.Zstd(),
    "zlib": numcodecs.Zlib(),
    "gzip": numcodecs.GZip(),
    "bz2": numcodecs.BZ2(),
    "blosc": numcodecs.Blosc(),
}


@pytest.mark.parametrize("codec", V2_DEFAULTS)
def test_v2_compressor_without_options(store, codec):
    """numcodecs has a default for every option, so zarr-python reads an array whose document gives none."""
    array = zarr.create_array(store, shape=SHAPE, dtype="uint16", chunks=CHUNKS, compressors=V2_DEFAULTS[codec],
                              zarr_format=2)
    array[:] = smooth_values("uint16")
    path = store / ".zarray"
    options = json.loads(path.read_text())["compressor"]
    # Each option alone left out, and all of them.
    for dropped in [*[{option} for option in options if option != "id"], set(options) - {"id"}]:
        document = json.loads(path.read_text())
        document["compressor"] = {option: value for option, value in options.items() if option not in dropped}
        path.write_text(json.dumps(document))
        check(store, "uint16")


@pytest.mark.parametrize("codec", V3_CODECS)
def test_v3_codec_inside_shards(store, codec):
    array = zarr.create_array(store, shape=SHAPE, dtype="uint16", chunks=CHUNKS, shards=(16, 18, 21),
                              compressors=V3_CODECS[codec])
    array[:] = smooth_values("uint16")
    check(store, "uint16")


@pytest.mark.parametrize("dtype", ["uint16", ">i4"])
@pytest.mark.parametrize("codec", V2_CODECS)
def test_v2_codec(store, codec, dtype):
    array = zarr.create_array(store, shape=SHAPE, dtype=dtype, chunks=CHUNKS, compressors=V2_CODECS[codec],
                              zarr_format=2)
    array[:] = smooth_values(dtype)
    check(store, np.dtype(dtype).name)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_transpose(store, order):
    array = zarr.create_array(store, shape=SHAPE, dtype="uint16", chunks=CHUNKS, filters=[TransposeCodec(order=order)],
                              compressors=ZstdCodec(level=1))
    array[:] = smooth_values("uint16")
    check(store, "uint16")


def test_two_transposes_in_a_row(store):
    filters = [TransposeCodec(order=(2, 0, 1)), TransposeCodec(order=(1, 0, 2))]
    array = zarr.create_array(store, shape=SHAPE, dtype="uint16", chunks=CHUNKS, filters=filters)
    array[:] = smooth_values("uint16")
    check(store, "uint16")


def test_transpose_inside_shards(store):
    array = zarr.create_array(store, shape=SHAPE, dtype="uint16", chunks=CHUNKS, shards=(16, 18, 21),
                              filters=[TransposeCodec(order=(2, 0, 1))], compressors=ZstdCodec(level=1))
    array[:] = smooth_values("uint16")
    check(store, "uint16")


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("index", ["with crc32c", "without crc32c"])
def test_shard_index(store, location, index):
    index_codecs = ["crc32c"] if index == "with crc32c" else []
    sharding = ShardingCodec(chunk_shape=CHUNKS, codecs=[{"name": "bytes", "configuration": {"endian": "little"}},
                                                         {"name": "zstd", "configuration": {"level": 1}}],
                             index_codecs=[{"name": "bytes", "configuration": {"endian": "little"}},
                                           *({"name": n} for n in index_codecs)],
                             index_location=location)
    array = zarr.create_array(store, shape=SHAPE, dtype="uint16", chunks=(16, 18, 21), serializer=sharding,
                              compressors=None)
    array[:] = smooth_values("uint16")
    check(store, "uint16")


def test_a_big_endian_shard_index(store):
    sharding = ShardingCodec(chunk_shape=CHUNKS, codecs=[{"name": "bytes", "configuration": {"endian": "big"}}],
                             index_codecs=[{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "crc32c"}])
    array = zarr.create_array(store, shape=SHAPE, dtype="uint16", chunks=(16, 18, 21), serializer=sharding,
                              compressors=None)
    array[:] = smooth_values("uint16")
    check(store, "uint16")


def test_shards_inside_shards(store):
    inner = ShardingCodec(chunk_shape=(4, 3, 7), codecs=[{"name": "bytes", "configuration": {"endian": "little"}},
                                                         {"name": "gzip", "configuration": {"level": 1}}])
    outer = ShardingCodec(chunk_shape=(8, 9, 7), codecs=[inner])
    array = zarr.create_array(store, shape=SHAPE, dtype="uint16", chunks=(16, 18, 21), serializer=outer,
                              compressors=None)
    array[:] = smooth_values("uint16")
    check(store, "uint16")

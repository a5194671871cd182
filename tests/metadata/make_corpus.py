"""Writes legal.jsonl: metadata documents with the facts that zarr-python reads in them.

One line a document: {"name", "format": 2 or 3, "document": its text, "facts"}. Most documents are written by
zarr-python; some are written here in spellings that zarr-python reads but does not write. The facts come from
zarr-python in both cases. Run with zarr 3.1 and numpy:

    python make_corpus.py > legal.jsonl
"""

import copy
import itertools
import json
import warnings

import numpy as np
import zarr
from zarr.codecs import (
    BloscCodec,
    BytesCodec,
    Crc32cCodec,
    GzipCodec,
    ShardingCodec,
    TransposeCodec,
    ZstdCodec,
)
from zarr.core.buffer import default_buffer_prototype
from zarr.core.metadata.v2 import ArrayV2Metadata
from zarr.core.metadata.v3 import ArrayV3Metadata
from zarr.core.sync import sync
from zarr.storage import MemoryStore

warnings.simplefilter("ignore")

SOURCES = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32".split()
UNCONVERTED = "bool float64 complex64 complex128".split()


def endian(codecs):
    for codec in codecs:
        if isinstance(codec, ShardingCodec):
            return endian(codec.codecs)
        if isinstance(codec, BytesCodec):
            return codec.endian.value if codec.endian else "little"
    return "little"


def levels(object_shape, codecs):
    """Chunk shapes that can be read in part: shards go on while nothing stands around them."""
    shapes = [list(object_shape)]
    while len(codecs) == 1 and isinstance(codecs[0], ShardingCodec):
        shapes.append(list(codecs[0].chunk_shape))
        codecs = codecs[0].codecs
    return shapes


def little_endian(value, dtype):
    return np.array(value, dtype=dtype).astype(dtype.newbyteorder("<")).tobytes().hex()


def facts(version, document):
    if version == 3:
        metadata = ArrayV3Metadata.from_dict(copy.deepcopy(document))
        dtype = metadata.data_type.to_native_dtype()
        shapes = levels(metadata.chunk_grid.chunk_shape, metadata.codecs)
        fill, order, byte_order = metadata.fill_value, "C", endian(metadata.codecs)
        name = document["data_type"]
        name = name if isinstance(name, str) else name["name"]
    else:
        metadata = ArrayV2Metadata.from_dict(copy.deepcopy(document))
        dtype = metadata.dtype.to_native_dtype()
        shapes = [list(metadata.chunks)]
        fill = metadata.fill_value
        fill = np.zeros((), dtype)[()] if fill is None else fill
        order, byte_order = metadata.order, "big" if dtype.str.startswith(">") else "little"
        name = document["dtype"] if isinstance(document["dtype"], str) else "structured"
    source = dtype.newbyteorder("=").name if dtype.kind in "iuf" else None
    known = source in SOURCES
    rank = len(metadata.shape)
    coords = [[0] * rank, [(3 * axis + 11) % 13 for axis in range(rank)]]
    return {
        "shape": list(metadata.shape),
        "levels": shapes,
        "data_type": name,
        "source": source if known else None,
        "byte_order": byte_order if known else None,
        "order": order,
        "fill_value": little_endian(fill, dtype) if known else "",
        "keys": [[c, metadata.encode_chunk_key(tuple(c))] for c in coords],
    }


def emit(name, version, document):
    """`document`: the text, or what to write as JSON."""
    text = document if isinstance(document, str) else json.dumps(document)
    line = {"name": name, "format": version, "document": text, "facts": facts(version, json.loads(text))}
    print(json.dumps(line))


def written(name, version, **kwargs):
    """A document that zarr-python writes."""
    store = MemoryStore()
    kwargs = {"shape": (20, 30), "chunks": (5, 6), "dtype": "uint16", **kwargs}
    zarr.create_array(store, zarr_format=version, **kwargs)
    key = "zarr.json" if version == 3 else ".zarray"
    buffer = sync(store.get(key, default_buffer_prototype()))
    text = buffer.to_bytes().decode()
    emit(name, version, json.dumps(json.loads(text)))
    return json.loads(text)


def changed(base, **members):
    return {**copy.deepcopy(base), **members}


def limits(name):
    dtype = np.dtype(name)
    if dtype.kind in "iu":
        return [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    return [float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_subnormal), -0.0, 1 / 3]


def version_3():
    base = written("v3-plain", 3)
    for dtype in SOURCES + UNCONVERTED + ["S7", "U7", "M8[ns]", "m8[s]", "V3", "str"]:
        written(f"v3-type-{dtype}", 3, dtype=dtype)
    for dtype in SOURCES:
        if np.dtype(dtype).itemsize > 1:
            written(f"v3-big-{dtype}", 3, dtype=dtype, serializer=BytesCodec(endian="big"))
        for i, fill in enumerate(limits(dtype)):
            written(f"v3-fill-{dtype}-{i}", 3, dtype=dtype, fill_value=fill)
    for dtype, fill in itertools.product(["float16", "float32"], [np.nan, np.inf, -np.inf]):
        written(f"v3-fill-{dtype}-{fill}", 3, dtype=dtype, fill_value=fill)

    # Spellings that zarr-python reads but does not write.
    def fill(name, dtype, text):
        number = json.dumps(changed(base, data_type=dtype, fill_value="@"))
        emit(f"v3-fill-{name}", 3, number.replace('"@"', text))

    fill("hex-pi", "float32", '"0x40490fdb"')
    fill("hex-nan-payload", "float32", '"0x7fc00001"')
    fill("hex-upper-case", "float32", '"0x7FC0ABCD"')
    fill("hex-half", "float16", '"0x3c01"')
    fill("float-as-integer", "float32", "16777217")
    fill("float-as-huge-integer", "float32", "18446744073709551617")
    fill("float-tie-through-double", "float32", "1.00000005960464477540")
    fill("half-as-integer", "float16", "2049")
    fill("exponent", "float32", "1E-45")
    fill("beyond-2-53", "uint64", "9007199254740993")
    fill("beyond-2-63", "uint64", "9223372036854775809")
    fill("int64-beyond-2-53", "int64", "-9007199254740993")

    for chunks in ["default/", "default.", "v2/", "v2."]:
        written(f"v3-keys-{chunks}", 3, chunk_key_encoding={"name": chunks[:-1], "separator": chunks[-1]})
    for name in ["default", "v2"]:
        emit(f"v3-keys-{name}-by-default", 3, changed(base, chunk_key_encoding={"name": name}))

    for i, compressor in enumerate([
        ZstdCodec(level=22, checksum=True), ZstdCodec(level=-7), GzipCodec(level=9), Crc32cCodec(),
        *(BloscCodec(cname=c, clevel=9, shuffle=s, typesize=2) for c, s in
          [("blosclz", "noshuffle"), ("lz4", "shuffle"), ("lz4hc", "bitshuffle"), ("zlib", "shuffle"),
           ("zstd", "bitshuffle"), ("snappy", "shuffle")]),
    ]):
        written(f"v3-compressor-{i}", 3, compressors=compressor)
    written("v3-compressor-none", 3, compressors=None)
    written("v3-compressors-two", 3, compressors=[GzipCodec(), Crc32cCodec()])
    for name in ["zlib", "bz2"]:
        written(f"v3-numcodecs-{name}", 3, compressors={"name": f"numcodecs.{name}", "configuration": {"level": 3}})
    blosc = {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}}
    emit("v3-blosc-without-typesize", 3, changed(base, codecs=[base["codecs"][0], blosc]))
    emit("v3-codec-without-configuration", 3,
         changed(base, data_type="uint8", codecs=[{"name": "bytes"}, {"name": "crc32c"}]))

    written("v3-transpose", 3, filters=TransposeCodec(order=(1, 0)))
    written("v3-transpose-5d", 3, shape=(7,) * 5, chunks=(1, 2, 3, 4, 5), filters=TransposeCodec(order=(4, 2, 0, 1, 3)))

    for rank in range(0, 9):
        shape, chunks = (9,) * rank, tuple(range(1, rank + 1))
        written(f"v3-rank-{rank}", 3, shape=shape, chunks=chunks)
        if rank:
            written(f"v3-rank-{rank}-sharded", 3, shape=shape, chunks=chunks, shards=tuple(2 * c for c in chunks))
    written("v3-empty", 3, shape=(0, 30))
    written("v3-chunks-past-the-end", 3, chunks=(50, 60))
    written("v3-huge", 3, shape=(2**62, 2**62), chunks=(2**20, 2**20))
    emit("v3-extents-of-all-bits", 3, changed(base, shape=[2**64 - 1, 0]))

    written("v3-shards", 3, shards=(10, 30))
    written("v3-shards-start", 3, shards={"shape": (10, 30), "index_location": "start"})
    written("v3-shards-compressed", 3, shards=(20, 30), compressors=BloscCodec(cname="lz4", shuffle="shuffle", typesize=2))
    written("v3-shards-big", 3, shards=(20, 30), serializer=BytesCodec(endian="big"))
    written("v3-shards-inner-transpose", 3, shards=(20, 30), filters=TransposeCodec(order=(1, 0)))

    def sharding(chunk_shape, codecs, **more):
        codec = ShardingCodec(chunk_shape=chunk_shape, codecs=codecs).to_dict()
        codec["configuration"].update(more)
        return codec

    inner = [BytesCodec(endian="big"), ZstdCodec()]
    nested = sharding((5, 6), [ShardingCodec(chunk_shape=(5, 3), codecs=inner)])
    shard = {"name": "regular", "configuration": {"chunk_shape": [10, 12]}}
    transpose = TransposeCodec(order=(1, 0)).to_dict()
    for name, codecs in {
        "nested": [nested],
        "nested-crc": [sharding((5, 6), [ShardingCodec(chunk_shape=(5, 3), codecs=inner), Crc32cCodec()])],
        "nested-transpose": [sharding((5, 6), [TransposeCodec(order=(1, 0)), ShardingCodec(chunk_shape=(3, 5), codecs=inner)])],
        "behind-transpose": [transpose, sharding((2, 2), inner)],
        "then-gzip": [sharding((5, 6), inner), GzipCodec().to_dict()],
        "index-without-crc": [sharding((5, 6), inner, index_codecs=[BytesCodec(endian="little").to_dict()])],
        "index-big-endian": [sharding((5, 6), inner, index_codecs=[BytesCodec(endian="big").to_dict(), {"name": "crc32c"}])],
    }.items():
        emit(f"v3-shards-{name}", 3, changed(base, chunk_grid=shard, codecs=codecs))

    written("v3-names", 3, dimension_names=["y", None])
    written("v3-attributes", 3, attributes={"deep": [[[[1]]]], "nan": float("nan"), "inf": [-float("inf")], "k": "\u00e9\"\\"})
    emit("v3-ignorable-extension", 3, changed(base, ours={"must_understand": False, "x": [1]}))
    emit("v3-white-space", 3, "\r\n\t " + json.dumps(base, indent=7) + "\n\n")
    emit("v3-escaped-keys", 3, json.dumps(base).replace('"shape"', '"\\u0073hap\\u0065"'))


def version_2():
    base = written("v2-plain", 2)
    for dtype in SOURCES + UNCONVERTED + ["S7", "U7", "M8[ns]", "m8[s]", "V3"]:
        written(f"v2-type-{dtype}", 2, dtype=dtype)
    for dtype in SOURCES:
        width = np.dtype(dtype).itemsize
        if width > 1:
            written(f"v2-big-{dtype}", 2, dtype=np.dtype(dtype).newbyteorder(">"))
        for i, fill in enumerate(limits(dtype)):
            written(f"v2-fill-{dtype}-{i}", 2, dtype=dtype, fill_value=fill)
        for spelled in "<>" if width > 1 else "|":
            emit(f"v2-fill-{spelled}-{dtype}-null", 2,
                 changed(base, dtype=np.dtype(dtype).newbyteorder(spelled).str, fill_value=None))
    for dtype, fill in itertools.product(["float16", "float32"], [np.nan, np.inf, -np.inf]):
        written(f"v2-fill-{dtype}-{fill}", 2, dtype=dtype, fill_value=fill)
        written(f"v2-fill-big-{dtype}-{fill}", 2, dtype=np.dtype(dtype).newbyteorder(">"), fill_value=fill)
    emit("v2-structured", 2, changed(base, dtype=[["a", "<u2"], ["b", "<f4"]], fill_value=None))

    import numcodecs
    for i, compressor in enumerate([
        numcodecs.Zstd(level=3), numcodecs.GZip(9), numcodecs.Zlib(0), numcodecs.BZ2(1),
        *(numcodecs.Blosc(cname=c, clevel=1, shuffle=s) for c, s in
          [("blosclz", 0), ("lz4", 1), ("lz4hc", 2), ("zlib", 1), ("zstd", 2), ("snappy", 1), ("zstd", -1)]),
    ]):
        written(f"v2-compressor-{i}", 2, compressors=compressor)
    written("v2-compressor-none", 2, compressors=None)

    for separator in "./":
        written(f"v2-separator-{separator}", 2, chunk_key_encoding={"name": "v2", "separator": separator})
    plain = changed(base)
    plain.pop("dimension_separator")
    emit("v2-separator-by-default", 2, plain)
    for rank in range(0, 9):
        shape, chunks = (9,) * rank, tuple(range(1, rank + 1))
        written(f"v2-rank-{rank}", 2, shape=shape, chunks=chunks)
        written(f"v2-rank-{rank}-f", 2, shape=shape, chunks=chunks, order="F")
    written("v2-empty", 2, shape=(0, 30))
    written("v2-huge", 2, shape=(2**62, 2**62), chunks=(2**20, 2**20))
    emit("v2-no-filters", 2, changed(base, filters=[]))
    emit("v2-unknown-members", 2, changed(base, ours=[float("nan")], attributes={"x": 1}))


version_3()
version_2()

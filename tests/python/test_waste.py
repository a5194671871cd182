"""The figures users plan by, against counts made here from layout and crops."""

import itertools

import damacy
import judge
import numpy as np
import pytest
import zarr

SHAPE, CHUNKS, SHARDS, CROP = (48, 64, 64), (8, 16, 16), (24, 32, 32), (12, 24, 24)
CHUNK_BYTES, CROP_BYTES = int(np.prod(CHUNKS)) * 2, int(np.prod(CROP)) * 2


def chunks_of(box):
    """Grid coordinates of the chunks that a box touches."""
    return set(itertools.product(*(range(a // k, (b - 1) // k + 1) for (a, b), k in zip(box, CHUNKS, strict=True))))


@pytest.mark.parametrize("output", ["float32", "uint8"])
@pytest.mark.parametrize("layout", ["v3 sharded", "v2"])
def test_each_chunk_is_read_and_decoded_once_a_window(store, layout, output):
    settings = {"shards": SHARDS} if layout == "v3 sharded" else {"zarr_format": 2}
    array = zarr.create_array(store, shape=SHAPE, chunks=CHUNKS, dtype="uint16", compressors=None, **settings)
    array[:] = np.random.default_rng(0).integers(1, 1 << 16, SHAPE, dtype="uint16")
    boxes = judge.random_boxes(SHAPE, CROP, 32)
    unique = set().union(*(chunks_of(box) for box in boxes))
    uses = sum(len(chunks_of(box)) for box in boxes)
    queues = damacy.QueueLimits(lookahead_samples=32)
    with damacy.Pipeline(damacy.BatchSpec(8, CROP, output), queues=queues) as pipeline:
        pipeline.push([damacy.Sample(str(store), box) for box in boxes])
        for batch in pipeline:
            batch.release()
        stats = pipeline.stats()
    assert stats.windows == 1
    assert stats.needed_bytes == 32 * CROP_BYTES  # in the source type, whatever the output
    assert stats.chunks_decoded == len(unique) < uses
    assert stats.decodes_avoided == uses - len(unique)
    assert stats.decoded_bytes == stats.read_bytes == len(unique) * CHUNK_BYTES
    assert stats.decode_waste == pytest.approx(len(unique) * CHUNK_BYTES / (32 * CROP_BYTES))
    assert stats.read_waste == pytest.approx(stats.decode_waste)
    assert stats.output_bytes == 32 * int(np.prod(CROP)) * np.dtype(output).itemsize

"""zarr-python as the judge: crops read by it and converted by the oracle, beside the same crops through a pipeline."""

from pathlib import Path

import damacy
import numpy as np
import oracle
import zarr

Box = tuple[tuple[int, int], ...]
ENGINES = ("native", "sandbox")
TIMEOUT_S = 60


def telling_values(dtype: str | np.dtype, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Random bits, values small and large, and each type's edges; floats include NaNs, infinities, subnormals, -0."""
    dtype = np.dtype(dtype)
    native, count = dtype.newbyteorder("="), int(np.prod(shape))
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 256, count * native.itemsize, dtype=np.uint8).view(native)
    if native.kind == "f":
        scale = np.float64(10.0) ** rng.integers(-8, 5 if native.itemsize == 2 else 20, count)
        with np.errstate(over="ignore"):
            moderate = (rng.normal(size=count) * scale).astype(native)
        edges = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -1.9, 255.5, np.finfo(native).max,
                          np.finfo(native).smallest_subnormal], native)
    else:
        info = np.iinfo(native)
        moderate = rng.integers(max(info.min, -300), min(info.max, 70_000), count).astype(native)
        edges = np.array([info.min, info.max, info.max - 1, 0, 1, 127], native)
    pick = rng.integers(0, 4, count)
    values = np.where(pick == 0, bits, np.where(pick == 1, edges[rng.integers(0, edges.size, count)], moderate))
    # np.where may quieten nothing, but keep random NaN bits as they were drawn.
    values = np.where(pick == 0, bits.view(f"u{native.itemsize}"), values.astype(native).view(f"u{native.itemsize}"))
    return values.view(native).reshape(shape).astype(dtype)


def random_boxes(shape: tuple[int, ...], crop: tuple[int, ...], count: int, seed: int = 0) -> list[Box]:
    """`count` boxes of extent `crop`, the first and last corner of the array among them."""
    rng = np.random.default_rng(seed)
    starts = [tuple(0 for _ in shape), tuple(s - c for s, c in zip(shape, crop, strict=True))]
    while len(starts) < count:
        starts.append(tuple(int(rng.integers(0, s - c + 1)) for s, c in zip(shape, crop, strict=True)))
    return [tuple((o, o + c) for o, c in zip(start, crop, strict=True)) for start in starts[:count]]


def through_damacy(path: Path, boxes: list[Box], output: str, engine: str = "native") -> np.ndarray:
    """All boxes as one batch, copied out."""
    crop = tuple(stop - start for start, stop in boxes[0])
    spec = damacy.BatchSpec(len(boxes), crop, output)
    with damacy.Pipeline(spec, executor=damacy.CpuExecutor(engine=engine)) as pipeline:
        pipeline.push([damacy.Sample(str(path), box) for box in boxes])
        with pipeline.pop(timeout=TIMEOUT_S) as batch:
            return np.array(np.asarray(batch))


def through_zarr(path: Path, boxes: list[Box], output: str) -> np.ndarray:
    """The same batch, read by zarr-python and converted by the oracle."""
    array = zarr.open_array(path, mode="r")
    return np.stack([oracle.converted(np.asarray(array[tuple(slice(*axis) for axis in box)]), output) for box in boxes])


def assert_same(path: Path, boxes: list[Box], outputs: tuple[str, ...] = ("float32",), engines=("native",)) -> None:
    """The pipeline's batch has the judge's type, shape and bits, for every output type and engine."""
    for output in outputs:
        expected = through_zarr(path, boxes, output)
        for engine in engines:
            got = through_damacy(path, boxes, output, engine)
            assert got.dtype == oracle.numpy_dtype(output) and got.shape == expected.shape
            if got.tobytes() != expected.tobytes():
                width = f"u{got.dtype.itemsize}"
                wrong = np.argwhere(got.view(width) != expected.view(width))
                at = tuple(int(i) for i in wrong[0])
                raise AssertionError(f"{output} by {engine}: {len(wrong)} of {got.size} elements differ, the first at "
                                     f"{at}: {got[at]!r} instead of {expected[at]!r}")


def pop_error(path: Path, crop: tuple[int, ...], output: str = "float32", box: Box | None = None) -> damacy.DamacyError:
    """The error that `pop` raises for one crop."""
    box = box or tuple((0, c) for c in crop)
    with damacy.Pipeline(damacy.BatchSpec(1, crop, output)) as pipeline:
        pipeline.push([damacy.Sample(str(path), box)])
        try:
            batch = pipeline.pop(timeout=TIMEOUT_S)
        except damacy.DamacyError as error:
            return error
        raise AssertionError(f"no error, but {np.asarray(batch)!r}")

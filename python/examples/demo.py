"""Random crops of a real MRI volume, as batches in three output types.

The volume that nibabel ships -> a sharded Zarr v3 array and a Zarr v2 array -> one pipeline per output type, which
mixes crops of both -> a table, a check against zarr-python, and a contact sheet in demo-output/.
"""

import itertools
import random
import shutil
import time
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path

import damacy
import ml_dtypes
import nibabel
import numcodecs
import numpy as np
import zarr
from PIL import Image, ImageDraw
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from zarr.codecs import ZstdCodec

OUT = Path(__file__).resolve().parents[2] / "demo-output"
CROP, BATCH, SAMPLES, SEED = (64, 64, 8, 1), 32, 8192, 7
DTYPES = ("float32", "bfloat16", "uint8")
SHEET_CROPS, MAGNIFY, WHITE = 8, 2, 700  # WHITE: about the 99th percentile of the volume

console = Console()
if not console.is_terminal:  # a log: no wrapping at 80 columns
    console = Console(width=120)


def load_volume() -> np.ndarray:
    """Two real MRI volumes of one head: int16, (x, y, z, time)."""
    with as_file(files("nibabel") / "tests/data/example4d.nii.gz") as path:
        image = nibabel.load(path)
        return np.ascontiguousarray(np.asanyarray(image.dataobj).astype(image.get_data_dtype().newbyteorder("=")))


def write_stores(volume: np.ndarray) -> dict[str, Path]:
    """The volume as sharded Zarr v3 and as Zarr v2."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    v3 = zarr.create_array(OUT / "mri-v3.zarr", shape=volume.shape, dtype=volume.dtype, chunks=(32, 32, 8, 1),
                           shards=(128, 96, 24, 1), compressors=ZstdCodec(level=3))
    v2 = zarr.create_array(OUT / "mri-v2.zarr", shape=volume.shape, dtype=volume.dtype, chunks=(32, 32, 12, 1),
                           compressors=numcodecs.Blosc("lz4", shuffle=numcodecs.Blosc.SHUFFLE), zarr_format=2)
    for array in (v3, v2):
        array[:] = volume
    return {"v3": OUT / "mri-v3.zarr", "v2": OUT / "mri-v2.zarr"}


def random_crops(stores: dict[str, Path], shape: tuple[int, ...]):
    """Endless random crops of both stores; the tag says where each came from."""
    rng = random.Random(SEED)
    while True:
        store = rng.choice(sorted(stores))
        box = tuple(slice(o, o + c) for o, c in ((rng.randrange(s - c + 1), c) for s, c in zip(shape, CROP, strict=True)))
        yield damacy.Sample(str(stores[store]), box, tag=(store, box))


def as_numpy(batch: damacy.Batch) -> np.ndarray:
    """A view of the batch. NumPy's own DLPack reader has no bfloat16, so those come through `np.asarray`."""
    return np.asarray(batch) if batch.info.dtype == damacy.Dtype.BF16 else np.from_dlpack(batch)


def reference(stores: dict[str, Path], tags, dtype: str) -> np.ndarray:
    """The same crops read by zarr-python and converted by NumPy."""
    arrays = {name: zarr.open_array(path, mode="r") for name, path in stores.items()}
    crops = np.stack([arrays[store][box] for store, box in tags])
    if dtype == "uint8":
        return np.clip(crops, 0, 255).astype(np.uint8)
    values = crops.astype(np.float32)
    return values.astype(ml_dtypes.bfloat16) if dtype == "bfloat16" else values


@dataclass
class Run:
    """What one pipeline gave."""

    dtype: str
    samples_per_s: float
    batch_bytes: int
    read_waste: float | None
    decode_waste: float | None
    low: float
    high: float
    mean: float
    crops: np.ndarray


def stream(stores: dict[str, Path], shape: tuple[int, ...], dtype: str, advance) -> Run:
    """Streams SAMPLES crops, takes min, max and mean of every batch, checks the first one."""
    low, high, total, count, first = np.inf, -np.inf, 0.0, 0, None
    with damacy.Pipeline(damacy.BatchSpec(BATCH, CROP, dtype)) as pipeline:
        start = time.perf_counter()
        pipeline.push(itertools.islice(random_crops(stores, shape), SAMPLES))
        for batch in pipeline:
            with batch:
                values = as_numpy(batch)
                if first is None:
                    first, tags, batch_bytes = values.copy(), batch.info.tags, batch.info.nbytes
                numbers = values.astype(np.float32) if dtype == "bfloat16" else values
                low, high = min(low, float(numbers.min())), max(high, float(numbers.max()))
                total, count = total + float(numbers.sum(dtype=np.float64)), count + numbers.size
                del values, numbers  # a view would keep the batch's buffer
            advance(BATCH)
        seconds, stats = time.perf_counter() - start, pipeline.stats()
    expected = reference(stores, tags, dtype)
    if first.tobytes() != expected.tobytes():
        raise SystemExit(f"{dtype}: the first batch is not what zarr-python and NumPy give")
    return Run(dtype, SAMPLES / seconds, batch_bytes, stats.read_waste, stats.decode_waste, low, high, total / count,
               first[:SHEET_CROPS])


def contact_sheet(runs: list[Run]) -> Path:
    """One row per output type: the middle slice of its first crops."""
    side, label = CROP[0] * MAGNIFY, 16
    sheet = Image.new("L", (SHEET_CROPS * (side + 2), len(runs) * (side + label + 2)), 40)
    draw = ImageDraw.Draw(sheet)
    for row, run in enumerate(runs):
        white = 255 if run.dtype == "uint8" else WHITE
        top = row * (side + label + 2)
        note = f"{run.dtype}, black 0, white {white}" + (" (values above 255 were clamped)" if white == 255 else "")
        draw.text((4, top + 2), note, fill=255)
        for column, crop in enumerate(run.crops):
            plane = np.clip(crop[:, :, CROP[2] // 2, 0].astype(np.float32) * (255 / white), 0, 255).astype(np.uint8)
            tile = Image.fromarray(np.rot90(plane)).resize((side, side), Image.Resampling.NEAREST)
            sheet.paste(tile, (column * (side + 2), top + label))
    path = OUT / "contact-sheet.png"
    sheet.save(path)
    return path


def table_of(runs: list[Run]) -> Table:
    """The closing table."""
    waste = ("Waste: bytes read or decoded for each byte that the crops needed. It is below 1 where crops of a look-ahead window "
             "share chunks, each of which is decoded once for all of them; what is read is compressed, too.")
    table = Table(title=f"{SAMPLES} crops of {CROP} per type, batches of {BATCH}", caption=waste, caption_justify="left")
    for heading in ("output type", "samples/s", "bytes a batch", "read waste", "decode waste", "min", "max", "mean"):
        table.add_column(heading, justify="left" if heading == "output type" else "right", no_wrap=True)
    for run in runs:
        wastes = ["unknown" if w is None else f"{w:.3f}" for w in (run.read_waste, run.decode_waste)]
        table.add_row(run.dtype, f"{run.samples_per_s:,.0f}", f"{run.batch_bytes:,}", *wastes, f"{run.low:g}",
                      f"{run.high:g}", f"{run.mean:.2f}")
    return table


def main() -> None:
    volume = load_volume()
    console.print(f"Volume: nibabel {version('nibabel')}, example4d.nii.gz (a real MRI scan of a head, 2 time points), "
                  f"{volume.dtype} {volume.shape}, values {volume.min()}..{volume.max()}; MIT licence, as nibabel.")
    stores = write_stores(volume)
    console.print("Written as sharded Zarr v3 (zstd) and as Zarr v2 (blosc/lz4); every pipeline draws from both.")
    columns = (TextColumn("{task.description:9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    runs = []
    with Progress(*columns, console=console) as progress:
        for dtype in DTYPES:
            task = progress.add_task(dtype, total=SAMPLES)
            runs.append(stream(stores, volume.shape, dtype, lambda n, task=task: progress.advance(task, n)))
    console.print(table_of(runs))
    console.print("samples/s includes what this consumer does: min, max and mean of every batch.")
    console.print("The first batch of each type equals what zarr-python reads and NumPy converts, bit for bit.")
    console.print(f"Contact sheet: {contact_sheet(runs)}", soft_wrap=True)


if __name__ == "__main__":
    main()

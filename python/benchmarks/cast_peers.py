"""The spec's conversions in numpy and torch: (source, output buffer) -> ways to fill it, or an expression of a new one.

A way writes into memory that exists already, as `convert(..., out=)` does, and keeps its intermediates. Several ways of
one peer are tried; those that a library cannot do raise. Values are clamped before they are cast; NaN and the floats
past a wide integer's range are mended afterwards. The expressions are what one writes without thinking of memory; they
leave out the last mending, so that floats beyond an integer of 32 bits or more end at the float below its maximum.
"""

from collections.abc import Callable

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)
Ways = dict[str, Callable[[], object]]


def bounds(source: np.dtype, output: np.dtype) -> tuple[int | None, int | None]:
    """What integers of `source` have to be clamped to for `output`; None where nothing can be out of range."""
    of, to = np.iinfo(source), np.iinfo(output)
    return (to.min if to.min > of.min else None), (to.max if to.max < of.max else None)


def float_bounds(output: np.dtype) -> tuple[float, float, float | None]:
    """Lowest and highest float32 that truncate into `output`; the first beyond, if the highest is not the maximum."""
    to = np.iinfo(output)
    if to.bits < 32:
        return float(to.min), float(to.max), None
    beyond = np.float32(2.0 ** (to.bits - (to.min < 0)))
    return float(to.min), float(np.nextafter(beyond, np.float32(0))), float(beyond)


def numpy_ways(x: np.ndarray, out: np.ndarray) -> Ways:
    """Ways to fill `out` from `x` in numpy and ml_dtypes."""

    def cast(values: np.ndarray) -> None:
        np.copyto(out, values, casting="unsafe")

    if out.dtype == BF16 and x.dtype != F32:
        wide = np.empty(x.shape, F32)

        def through_f32() -> None:
            np.copyto(wide, x)
            cast(wide)

        return {"cast through float32": through_f32, "cast": lambda: cast(x)}
    if out.dtype in (BF16, F32) or x.dtype == out.dtype:
        return {"cast": lambda: cast(x)}
    if x.dtype.kind in "iu":
        low, high = bounds(x.dtype, out.dtype)
        if low is None and high is None:
            return {"cast": lambda: cast(x)}
        one = x.dtype.type
        low, high = (None if low is None else one(low)), (None if high is None else one(high))
        clipped = np.empty_like(x)

        def two_passes() -> None:
            np.clip(x, low, high, out=clipped)
            cast(clipped)

        def one_pass() -> None:
            np.clip(x, low, high, out=out, casting="unsafe")

        return {"clip, cast": two_passes, "clip into the output": one_pass}
    return numpy_from_floats(x, out)


def numpy_from_floats(x: np.ndarray, out: np.ndarray) -> Ways:
    """float16 and float32 to integers. float16 goes through float32: it cannot hold the bounds, and is slow."""
    low, top, beyond = float_bounds(out.dtype)
    low, top = np.float32(low), np.float32(top)
    largest = np.iinfo(out.dtype).max
    values = x if x.dtype == F32 else np.empty(x.shape, F32)
    clipped, mask = np.empty(x.shape, F32), np.empty(x.shape, bool)

    def widen() -> None:
        if values is not x:
            np.copyto(values, x)

    def mend_beyond() -> None:
        if beyond is not None:
            np.greater_equal(values, np.float32(beyond), out=mask)
            np.copyto(out, largest, where=mask)

    def nan_last() -> None:
        widen()
        np.clip(values, low, top, out=clipped)
        np.copyto(out, clipped, casting="unsafe")
        mend_beyond()
        np.isnan(values, out=mask)
        np.copyto(out, 0, where=mask)

    def nan_first() -> None:
        widen()
        np.clip(np.where(np.isnan(values), np.float32(0), values), low, top, out=clipped)
        np.copyto(out, clipped, casting="unsafe")
        mend_beyond()

    def by_fmax() -> None:  # fmax takes the bound where the value is NaN, and that is 0
        widen()
        np.fmax(values, low, out=clipped)
        np.minimum(clipped, top, out=clipped)
        np.copyto(out, clipped, casting="unsafe")
        mend_beyond()

    ways: Ways = {"clip, cast, NaN": nan_last, "NaN, clip, cast": nan_first}
    if out.dtype.kind == "u":
        ways["fmax, minimum, cast"] = by_fmax
    return ways


def numpy_expression(x: np.ndarray, output: np.dtype) -> Callable[[], object]:
    """The conversion as one writes it in numpy, into new arrays."""
    if output == BF16:
        return lambda: x.astype(F32).astype(BF16)
    if output == F32:
        return lambda: x.astype(F32)
    if x.dtype.kind in "iu":
        low, high = bounds(x.dtype, output)
        if low is None and high is None:
            return lambda: x.astype(output)
        one = x.dtype.type
        low, high = (None if low is None else one(low)), (None if high is None else one(high))
        return lambda: np.clip(x, low, high).astype(output)
    low, top, _ = float_bounds(output)
    low, top = np.float32(low), np.float32(top)
    return lambda: np.clip(np.where(np.isnan(x), np.float32(0), x.astype(F32, copy=False)), low, top).astype(output)


def torch_expression(torch, x: np.ndarray, output: np.dtype) -> Callable[[], object]:
    """The conversion as one writes it in torch, into new tensors."""
    t, target = torch.from_numpy(x), getattr(torch, output.name)
    if output == BF16:
        return lambda: t.to(torch.float32).to(target)
    if output == F32:
        return lambda: t.to(target, copy=True)
    if x.dtype.kind in "iu":
        low, high = bounds(x.dtype, output)
        if low is None and high is None:
            return lambda: t.to(target, copy=True)
        return lambda: t.clamp(low, high).to(target)
    low, top, _ = float_bounds(output)
    return lambda: torch.nan_to_num(t.to(torch.float32), nan=0.0).clamp(low, top).to(target)


def torch_ways(torch, x: np.ndarray, out: np.ndarray) -> Ways:
    """Ways to fill `out` from `x` in torch, through views of the same memory."""
    t = torch.from_numpy(x)
    o = torch.from_numpy(out.view(np.int16)).view(torch.bfloat16) if out.dtype == BF16 else torch.from_numpy(out)
    if out.dtype == BF16 and x.dtype != F32:
        wide = torch.empty(t.shape, dtype=torch.float32)
        return {"copy_ through float32": lambda: o.copy_(wide.copy_(t)), "copy_": lambda: o.copy_(t)}
    if out.dtype in (BF16, F32) or x.dtype == out.dtype:
        return {"copy_": lambda: o.copy_(t)}
    if x.dtype.kind in "iu":
        return torch_from_integers(torch, t, o, *bounds(x.dtype, out.dtype))
    return torch_from_floats(torch, t, o, out.dtype)


def torch_from_integers(torch, t, o, low: int | None, high: int | None) -> Ways:
    """Integers to integers. torch's wide unsigned types can be cast and little else."""
    if low is None and high is None:
        return {"copy_": lambda: o.copy_(t)}
    if t.dtype == torch.uint64:
        signed = t.view(torch.int64)  # negative from 2^63 on
        kept = torch.empty_like(signed)

        def as_int64() -> None:
            torch.clamp(signed, max=high, out=kept)
            o.copy_(kept.masked_fill_(signed < 0, high))

        return {"clamp as int64, copy_": as_int64}
    kept = torch.empty_like(t)

    def clamp() -> None:
        torch.clamp(t, low, high, out=kept)
        o.copy_(kept)

    ways: Ways = {"clamp, copy_": clamp}
    if t.dtype in (torch.uint16, torch.uint32):
        wide = torch.empty(t.shape, dtype=torch.int32 if t.dtype == torch.uint16 else torch.int64)
        ways["copy_ to a wider type, clamp_, copy_"] = lambda: o.copy_(wide.copy_(t).clamp_(low, high))
    return ways


def torch_from_floats(torch, t, o, output: np.dtype) -> Ways:
    """float16 and float32 to integers."""
    low, top, beyond = float_bounds(output)
    largest = int(np.iinfo(output).max)
    values = t if t.dtype == torch.float32 else torch.empty(t.shape, dtype=torch.float32)
    kept = torch.empty_like(values)

    def clamped(high: float):
        if values is not t:
            values.copy_(t)
        return torch.nan_to_num(values, nan=0.0, out=kept).clamp_(low, high)

    if beyond is None:
        narrow = torch.empty(t.shape, dtype=torch.int32)
        return {
            "nan_to_num, clamp_, copy_": lambda: o.copy_(clamped(top)),
            "nan_to_num, clamp_, copy_ through int32": lambda: o.copy_(narrow.copy_(clamped(top))),
        }

    def mend_beyond() -> None:
        o.copy_(clamped(top))
        if o.dtype == torch.uint64:
            o.view(torch.int64).masked_fill_(values >= beyond, -1)
        else:
            o.masked_fill_(values >= beyond, largest)

    ways: Ways = {"nan_to_num, clamp_, copy_, masked_fill_": mend_beyond}
    if output.itemsize == 4:
        wide = torch.empty(t.shape, dtype=torch.int64)
        ways["through int64"] = lambda: o.copy_(wide.copy_(clamped(beyond)).clamp_(max=largest))
    return ways

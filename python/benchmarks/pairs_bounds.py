"""Targets of the conversion, by pair and measure, and what bounds the pairs that stay under theirs.

A pair's short names and a measure in -> the target, and for the report a line of text.
"""

from fnmatch import fnmatchcase

WIDTHS = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "f16": 2, "bf16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8}

# The most used pairs.
HOT = {(source, output) for source in ("u8", "u16", "i16", "u32") for output in ("f32", "bf16", "u8")} | {
    ("f32", "u8"), ("f32", "i16"), ("f32", "bf16"), ("f16", "f32")
}

MEASURES = {
    "small": "to memcpy, in L2",
    "large": "to memcpy, beyond the caches",
    "sandbox": "sandbox to native",
    "rows64": "crop to flat, rows of 64",
    "rows128": "crop to flat, rows of 128",
    "threads": "2 threads to 1",
    "numpy": "times as fast as numpy",
    "torch": "times as fast as torch",
}

# (source, output, measure, what bounds it): shell patterns, the first that matches is taken.
BOUNDS: list[tuple[str, str, str, str]] = [
    *((name, name, peer, "memory: either side is a plain copy") for name in WIDTHS for peer in ("numpy", "torch")),
    ("[ui]64", "*f*", "small", "arithmetic: AVX2 has no conversion between 64-bit integers and floats"),
    ("f32", "[ui]64", "small", "arithmetic: AVX2 has no conversion between 64-bit integers and floats"),
    ("f16", "*", "small", "arithmetic: float16 is widened first, by two instructions for eight elements"),
    ("[ui]16", "bf16", "small", "arithmetic: converted, rounded and narrowed"),
    ("*32", "bf16", "small", "arithmetic: converted, rounded and narrowed"),
    ("[ui]8", "*", "small", "stores: four of five bytes are written, and no faster than memcpy writes its half"),
    ("*", "*", "large", "memory, with noise: see the lowest and the highest"),
    ("f16", "*", "sandbox", "simd128 has no conversion from float16: a dozen instructions an element of four"),
    ("[ui]64", "*f*", "sandbox", "simd128 has no conversion from 64-bit integers to float: one by one"),
    ("f32", "[ui]64", "sandbox", "simd128 has no conversion from float to 64-bit integers: scalar"),
    ("*", "bf16", "sandbox", "arithmetic on 16-byte vectors, where native code has wider ones"),
    ("*", "*", "sandbox", "the guest's loops: 16-byte vectors where native code has wider ones, and deadline checks"),
    ("*", "*", "rows*", "the destination's lines, which are a row apart: see rows of a crop"),
    ("*", "*", "threads", "memory, and the start of a thread in each call: see two threads of memcpy"),
]


def target(source: str, output: str, measure: str) -> float:
    """What the pair has to reach (the sandbox: where less has to be explained)."""
    if measure == "large":
        return 0.70 if {WIDTHS[source], WIDTHS[output]} == {1, 8} else 0.85
    if measure == "small":
        return 0.70 if (source, output) in HOT else 0.45
    return {"sandbox": 0.5, "rows64": 0.9, "rows128": 0.9, "threads": 1.7, "numpy": 1.0, "torch": 1.0}[measure]


def bound(source: str, output: str, measure: str) -> str:
    """What keeps a pair under its target."""
    for sources, outputs, measures, text in BOUNDS:
        if fnmatchcase(source, sources) and fnmatchcase(output, outputs) and fnmatchcase(measure, measures):
            return text
    return "not known yet"

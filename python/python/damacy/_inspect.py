"""What is at a URI, without reading a chunk: an array's facts, or a group's arrays and its multiscale images.

Array metadata is parsed in the sandbox. ``to_dict`` gives what ``damacy inspect --json`` prints.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Literal

from damacy import _native
from damacy._check import uri as checked_uri
from damacy._dtype import Dtype
from damacy._errors import Status
from damacy._plain import plain


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something cannot be read or converted.

    Attributes:
        status: What kind of fault it is.
        message: What was found, and what is accepted.
    """

    status: Status
    message: str

    def __str__(self) -> str:
        return f"{self.status.name}: {self.message}"


@dataclass(frozen=True, slots=True)
class ChunkKey:
    """How chunk coordinates become object keys.

    Attributes:
        name: ``"default"`` (``c/1/2``) or ``"v2"`` (``1/2``).
        separator: ``"/"`` or ``"."``.
    """

    name: str
    separator: str


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """What an array's metadata says, and what can be done with it.

    Attributes:
        uri: Where it is.
        zarr_format: 2 or 3.
        shape: Elements along each axis.
        data_type: The data type as the metadata names it: ``"uint16"``, ``">u2"``, ``"float64"``.
        source: The element type by NumPy's name; None for a type without a conversion.
        byte_order: Of stored elements.
        order: ``"C"``, or ``"F"`` for Zarr v2 arrays whose chunks are stored first axis fastest.
        chunk_shape: What is read and decoded at once (inside a shard, where there are shards; without a source type
            shards are not looked into).
        shard_shapes: Shards that are read in part, outermost first; ``()`` without.
        grid: Chunks along each axis.
        chunks: Chunks of the whole grid; None beyond 64 bits, as all counts.
        objects: Stored objects (shards, or chunks where there are none) of the whole grid.
        elements: Elements of the array.
        chunk_bytes: Bytes of one decoded chunk; None without a source type too.
        bytes: Bytes of all elements in the source type; None without a source type too.
        codecs: Names of all codecs in order, nested ones after their parent.
        fill_value: What missing chunks read as: a number, or as Zarr v3 writes it ``"NaN"``, ``"Infinity"``,
            ``"-Infinity"`` or the bits of another NaN (``"0x7fc00001"``). None without a source type.
        chunk_key: How chunk coordinates become object keys.
        metadata_bytes: Bytes of the metadata document.
        converts_to: The output types that it converts to: all ten or none.
        refusal: Why there is no conversion, if so.
    """

    uri: str
    zarr_format: int
    shape: tuple[int, ...]
    data_type: str
    source: str | None
    byte_order: Literal["little", "big"]
    order: Literal["C", "F"]
    chunk_shape: tuple[int, ...]
    shard_shapes: tuple[tuple[int, ...], ...]
    grid: tuple[int, ...]
    chunks: int | None
    objects: int | None
    elements: int | None
    chunk_bytes: int | None
    bytes: int | None
    codecs: tuple[str, ...]
    fill_value: int | float | str | None
    chunk_key: ChunkKey
    metadata_bytes: int
    converts_to: tuple[Dtype, ...]
    refusal: Refusal | None

    def to_dict(self) -> dict[str, Any]:
        """Dicts, lists, numbers and strings, with ``"kind": "array"``."""
        return {"kind": "array", **plain(self)}

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        outputs = ", ".join(dtype.short_name for dtype in self.converts_to)
        shards = "".join(f", shards {shape}" for shape in self.shard_shapes)
        chunks = "more than 2**64 - 1" if self.chunks is None else self.chunks
        lines = [
            f"{self.uri}: Zarr v{self.zarr_format} array",
            f"{self.data_type} {self.shape}, {self.byte_order}-endian, order {self.order}",
            f"chunks {self.chunk_shape}{shards}: {chunks}",
            f"codecs {', '.join(self.codecs) or 'none'}; fill value {self.fill_value}",
            f"converts to {outputs or f'nothing: {self.refusal}'}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of an OME-Zarr image.

    Attributes:
        name: ``"z"``.
        type: ``"space"``, ``"time"``, ``"channel"`` ..., if it is given.
        unit: ``"micrometer"`` ..., if it is given.
    """

    name: str
    type: str | None
    unit: str | None


@dataclass(frozen=True, slots=True)
class Level:
    """One resolution of an OME-Zarr image.

    Attributes:
        path: Relative to the group.
        scale: Size of an element along each axis, in the axis's unit; ``()`` if it is not given.
        translation: Where the first element is; ``()`` if it is not given.
        factors: ``scale`` over that of the first level.
        array: The array's facts, or None.
        error: Why it cannot be opened, or None.
    """

    path: str
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    factors: tuple[float, ...]
    array: ArrayInfo | None
    error: Refusal | None


@dataclass(frozen=True, slots=True)
class Multiscale:
    """An OME-Zarr image in several resolutions.

    Attributes:
        name: Its name, if it has one.
        version: OME-Zarr's version, if it is given.
        axes: One for each axis of its arrays; ``()`` in versions that do not name them.
        levels: Finest first; ``()`` if ``error`` is of the axes or levels.
        error: The first fault of its attributes, with its place, or None.
    """

    name: str | None
    version: str | None
    axes: tuple[Axis, ...]
    levels: tuple[Level, ...]
    error: Refusal | None


@dataclass(frozen=True, slots=True)
class GroupArray:
    """An array of a group.

    Attributes:
        path: Relative to the group; bytes that are not UTF-8 as ``\\xff``.
        array: The array's facts, or None.
        error: Why it cannot be opened, or None. A node whose name is not UTF-8 is told by its ``file://`` URI here, by which
            it can be inspected.
    """

    path: str
    array: ArrayInfo | None
    error: Refusal | None


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """What is in a group.

    Attributes:
        uri: Where it is.
        zarr_format: 2 or 3.
        multiscales: OME-Zarr's images; ``()`` in other groups.
        multiscales_error: What is wrong with the attributes that list those images, or None; if it is given, some or all
            of them are missing.
        arrays: Arrays at any depth.
        groups: Paths of groups at any depth.
        complete: Whether everything is listed: no more than 1000 arrays, 10,000 directory entries and 64 MiB of
            metadata are looked at.
    """

    uri: str
    zarr_format: int
    multiscales: tuple[Multiscale, ...]
    multiscales_error: Refusal | None
    arrays: tuple[GroupArray, ...]
    groups: tuple[str, ...]
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Dicts, lists, numbers and strings, with ``"kind": "group"``."""
        return {"kind": "group", **plain(self)}

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        lines = [f"{self.uri}: Zarr v{self.zarr_format} group"]
        for image in self.multiscales:
            axes = ", ".join(axis.name if axis.unit is None else f"{axis.name} ({axis.unit})" for axis in image.axes)
            faulty = "" if image.error is None else f"; {image.error}"
            lines.append(f"OME-Zarr {image.version or ''} image {image.name or ''}: axes {axes or 'not named'}{faulty}")
            lines += [f"  level {level.path}: factors {level.factors}, {_facts(level)}" for level in image.levels]
        if self.multiscales_error is not None:
            lines.append(f"OME-Zarr attributes: {self.multiscales_error}")
        lines += [f"array {array.path}: {_facts(array)}" for array in self.arrays]
        lines += [f"group {path}" for path in self.groups]
        if not self.complete:
            lines.append("and more, which is not listed")
        return "\n".join(lines)


def inspect(uri: str | os.PathLike[str]) -> ArrayInfo | GroupInfo:
    """What is at a path or ``file://`` URI. No chunk is read.

    What is wrong with one array of a group, or with the attributes of its images, is told beside them, and raises nothing.

    Raises:
        NotFound: there is neither an array nor a group.
        DecodeError: malformed metadata.
        Unsupported: a codec, grid, extension or store that this build lacks.
        StorageError: the metadata cannot be read.
        BudgetExceeded: metadata beyond the limits.

    >>> array = inspect(store)
    >>> array.shape, array.chunk_shape, array.chunks, array.source
    ((10, 10), (4, 4), 9, 'uint16')
    >>> [dtype.short_name for dtype in array.converts_to][:3]
    ['f32', 'bf16', 'u8']
    """
    fields = json.loads(_native.inspect(checked_uri("uri", uri)))
    return array_info(fields) if fields["kind"] == "array" else _group(fields)


def array_info(fields: dict[str, Any]) -> ArrayInfo:
    """The facts of the native module's fields."""
    fields = {name: value for name, value in fields.items() if name != "kind"}
    tuples = {name: tuple(fields[name]) for name in ("shape", "chunk_shape", "grid", "codecs")}
    return ArrayInfo(
        **{
            **fields,
            **tuples,
            "shard_shapes": tuple(tuple(shape) for shape in fields["shard_shapes"]),
            "chunk_key": ChunkKey(**fields["chunk_key"]),
            "converts_to": tuple(Dtype.parse(name) for name in fields["converts_to"]),
            "refusal": _refusal(fields["refusal"]),
        }
    )


def _refusal(fields: dict[str, Any] | None) -> Refusal | None:
    return None if fields is None else Refusal(Status(fields["code"]), fields["message"])


def _array_of(fields: dict[str, Any]) -> ArrayInfo | None:
    return None if fields["array"] is None else array_info(fields["array"])


def _level(fields: dict[str, Any]) -> Level:
    return Level(
        path=fields["path"],
        scale=tuple(fields["scale"]),
        translation=tuple(fields["translation"]),
        factors=tuple(fields["factors"]),
        array=_array_of(fields),
        error=_refusal(fields["error"]),
    )


def _group(fields: dict[str, Any]) -> GroupInfo:
    images = (
        Multiscale(
            name=image["name"],
            version=image["version"],
            axes=tuple(Axis(**axis) for axis in image["axes"]),
            levels=tuple(map(_level, image["levels"])),
            error=_refusal(image["error"]),
        )
        for image in fields["multiscales"]
    )
    return GroupInfo(
        uri=fields["uri"],
        zarr_format=fields["zarr_format"],
        multiscales=tuple(images),
        multiscales_error=_refusal(fields["multiscales_error"]),
        arrays=tuple(GroupArray(a["path"], _array_of(a), _refusal(a["error"])) for a in fields["arrays"]),
        groups=tuple(fields["groups"]),
        complete=fields["complete"],
    )


def _facts(found: Level | GroupArray) -> str:
    if found.array is None:
        return str(found.error)
    return f"{found.array.data_type} {found.array.shape}, chunks {found.array.chunk_shape}"

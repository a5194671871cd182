"""Values of this package -> what JSON can hold: dicts, lists, numbers, strings, None."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from damacy._dtype import Dtype
from damacy._errors import Status


def plain(value: Any) -> Any:
    """The value in JSON's types. Element types become their full names, a status its name and its code."""
    if isinstance(value, Dtype):
        return value.full_name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields: dict[str, Any] = {}
        for field in dataclasses.fields(value):
            found = getattr(value, field.name)
            fields[field.name] = plain(found)
            if isinstance(found, Status):
                fields |= {field.name: found.name, "code": found.value}
        return fields
    if isinstance(value, dict):
        return {plain(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(entry) for entry in value]
    return value.value if isinstance(value, enum.Enum) else value

"""Small validated types: ids, digests, durations, sizes, tiers."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""An id that may be part of a key: letters, digits, dot, dash and underscore, at most 64, never a path."""

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]

LifecycleType = Literal["run", "spec", "review"]

_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZE_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def _duration(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)?\s*", value)
    if not match:
        raise ValueError(f"{value!r} is not a duration; write seconds or 500ms, 30s, 10m, 2h")
    return float(match[1]) * _DURATION_UNITS[match[2] or "s"]


def _size(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)i?b?\s*", value, re.IGNORECASE)
    if not match:
        raise ValueError(f"{value!r} is not a size; write bytes or 64k, 512m, 2g")
    return int(float(match[1]) * _SIZE_UNITS[match[2].lower()])


_either = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]}

Seconds = Annotated[float, BeforeValidator(_duration), Field(gt=0), WithJsonSchema(_either)]
"""A duration in seconds; in files also ``30s``, ``10m``, ``2h``."""

Bytes = Annotated[int, BeforeValidator(_size), Field(gt=0), WithJsonSchema(_either)]
"""A size in bytes; in files also ``64k``, ``512m``, ``2g`` (powers of 1024)."""


def digest_of(data: bytes) -> str:
    """The content address of some bytes, ``sha256:<hex>``."""
    return "sha256:" + hashlib.sha256(data).hexdigest()

"""The base of all records: frozen, closed to unknown fields, versioned when persisted."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from farm.errors import RecordError


class Model(BaseModel):
    """A value: immutable, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Record(Model):
    """A persisted value. It names its kind and schema version, so that it is never misread.

    A subclass declares ``KIND`` and ``VERSION`` and the two fields with these as `Literal` defaults.
    """

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1

    kind: str
    schema_version: int

    def to_bytes(self) -> bytes:
        """Canonical JSON: sorted keys, no spaces. Equal records give equal bytes."""
        return canonical_json(self.model_dump(mode="json"))

    @classmethod
    def from_bytes(cls, data: bytes, source: str = "record") -> Self:
        """Read a stored record.

        Raises:
            RecordError: not JSON, another kind, another schema version, or fields that do not fit.

        """
        try:
            raw = json.loads(data)
        except ValueError as error:
            raise RecordError(f"{source}: not valid JSON ({error})") from None
        if not isinstance(raw, dict) or raw.get("kind") != cls.KIND:
            found = raw.get("kind") if isinstance(raw, dict) else type(raw).__name__
            raise RecordError(f"{source}: expected a record of kind {cls.KIND!r}, found {found!r}")
        if raw.get("schema_version") != cls.VERSION:
            raise RecordError(
                f"{source}: {cls.KIND} has schema version {raw.get('schema_version')!r}; this release reads "
                f"version {cls.VERSION}. Use the evalfarm release that wrote it, or a newer one."
            )
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise RecordError(f"{source}: {cls.KIND} is damaged at {field!r}: {first['msg']}") from None


def canonical_json(value: Any) -> bytes:
    """JSON bytes that depend on the value only (sorted keys, UTF-8, no spaces)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()

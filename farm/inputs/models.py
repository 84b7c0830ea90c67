"""Which model a role uses: flag > environment > sweep > role file > none, with the winner's source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from farm.inputs.yaml_file import YamlFile


class Resolved(NamedTuple):
    """A model and what decided it."""

    model: str | None
    source: str


def resolve_model(
    role: str,
    flag: str | None,
    env: Mapping[str, str],
    sweep: str | None,
    role_file: Path | None,
) -> Resolved:
    """Pick the model of a role (`producer` or `judge`). Blank values count as absent."""
    variable = f"FARM_{role.upper()}_MODEL"
    for value, source in (
        (flag, f"--{role}-model"),
        (env.get(variable), variable),
        (sweep, "sweep"),
        (_from_file(role_file), str(role_file)),
    ):
        if value and value.strip():
            return Resolved(value.strip(), source)
    return Resolved(None, "none")


def _from_file(path: Path | None) -> str | None:
    if path is None or not path.is_file():
        return None
    value = YamlFile(path).value
    model = value.get("model") if isinstance(value, dict) else None
    return model if isinstance(model, str) else None

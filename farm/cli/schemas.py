"""JSON Schemas of what people write and what the farm stores."""

from __future__ import annotations

import json
from pathlib import Path

from farm.cli import console
from farm.errors import InputError
from farm.model.base import Model
from farm.model.manifest import Manifest
from farm.model.oracle import OracleSpec
from farm.model.result import Result
from farm.model.rubric import Rubric
from farm.model.scenario import ScenarioSpec
from farm.model.steps import JudgeRecord, OracleRecord, ProduceRecord
from farm.model.sweep import SweepSpec
from farm.model.verdict import RunVerdict

SCHEMAS: dict[str, type[Model]] = {
    "sweep": SweepSpec,
    "scenario": ScenarioSpec,
    "oracle": OracleSpec,
    "rubric": Rubric,
    "manifest": Manifest,
    "produce-record": ProduceRecord,
    "oracle-record": OracleRecord,
    "judge-record": JudgeRecord,
    "result": Result,
    "verdict": RunVerdict,
}
WRITTEN = ("sweep", "scenario", "oracle", "rubric")
"""Schemas of files that people write; editors want these."""


def text(name: str) -> str:
    """A schema as text."""
    return json.dumps(SCHEMAS[name].model_json_schema(by_alias=False), indent=2, sort_keys=True) + "\n"


def export(name: str | None, into: Path | None) -> None:
    """Print one schema or the list of names; or write all into a directory."""
    if into is not None:
        into.mkdir(parents=True, exist_ok=True)
        for each in [name] if name else SCHEMAS:
            (into / f"{each}.schema.json").write_text(text(each))
            console.out(str(into / f"{each}.schema.json"))
    elif name is None:
        for each in SCHEMAS:
            console.out(each)
    elif name in SCHEMAS:
        console.out(text(name).rstrip())
    else:
        raise InputError(f"no schema {name!r}; there are {', '.join(SCHEMAS)}")

"""Who judges, and what a judge may answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from farm.model.base import Model
from farm.model.script import Script


class ScriptJudge(Script):
    """A deterministic script scores the soft axes: it reads the five files and writes `judge.json`."""


class ModelJudge(Model):
    """A hosted model scores the soft axes through its provider's API."""

    type: Literal["openai", "anthropic"]
    model: str | None = None
    family: str | None = None
    """Model family, when it cannot be told from the model's id."""
    base_url: str | None = None
    api_key_env: str | None = None
    """Name of the variable on the worker that holds the key; the key itself is never written down."""
    max_tokens: Annotated[int, Field(gt=0)] = 4096
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None


JudgeSpec = Annotated[ScriptJudge | ModelJudge, Field(discriminator="type")]


class JudgeAxis(Model):
    """One axis as a judge answers it."""

    name: str
    score: float
    confidence: float = 1.0
    code: str | None = None
    evidence: str | None = None


class JudgeAnswer(Model):
    """A judge's whole answer."""

    axes: tuple[JudgeAxis, ...]

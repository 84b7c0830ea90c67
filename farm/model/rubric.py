"""The rubric: axes by lifecycle type and category, with weights, vetoes and issue codes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, field_validator

from farm.model.base import Model
from farm.model.scalars import LifecycleType, Slug


class AxisSpec(Model):
    """One axis. Its first code is the default when an oracle check on it fails."""

    codes: Annotated[tuple[str, ...], Field(min_length=1)]
    weight: Annotated[float, Field(gt=0)] = 1.0
    veto: bool = False


def _axis(value: Any) -> Any:
    """Accept the ancestor's first form too: a bare list of codes."""
    return {"codes": value} if isinstance(value, list) else value


class TypeSpec(Model):
    """The axes of one lifecycle type, grouped in categories."""

    label: str = ""
    categories: dict[Slug, dict[Slug, Annotated[AxisSpec, BeforeValidator(_axis)]]]

    @field_validator("categories")
    @classmethod
    def _axes_once(cls, value: dict[str, dict[str, AxisSpec]]) -> dict[str, dict[str, AxisSpec]]:
        seen: dict[str, str] = {}
        for category, axes in value.items():
            for axis in axes:
                if axis in seen:
                    raise ValueError(f"axis {axis!r} stands in both {seen[axis]!r} and {category!r}")
                seen[axis] = category
        return value

    def axes(self) -> dict[str, AxisSpec]:
        """Every axis of this type by name."""
        return {name: spec for axes in self.categories.values() for name, spec in axes.items()}

    def category_of(self, axis: str) -> str:
        """The category an axis belongs to."""
        return next(category for category, axes in self.categories.items() if axis in axes)


class Rubric(Model):
    """`axes.yml` (and the ancestor's `axes.json`)."""

    tiers: tuple[float, ...] = (0.0, 0.5, 1.0)
    pass_threshold: Annotated[
        float, Field(gt=0, le=1, validation_alias=AliasChoices("pass_threshold", "passThreshold"))
    ] = 0.8
    types: dict[LifecycleType, TypeSpec]

    @field_validator("tiers")
    @classmethod
    def _three(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if value != (0.0, 0.5, 1.0):
            raise ValueError("tiers are 0, 0.5 and 1")
        return value

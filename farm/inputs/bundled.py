"""Where the bundled scenarios, demo and rubric are: in the wheel, or in the checkout."""

from __future__ import annotations

from pathlib import Path


def bundled_root() -> Path:
    """The directory with the bundled scenarios."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_bundled"
    return installed if installed.is_dir() else package.parent / "scenarios"


def bundled_scenarios() -> dict[str, Path]:
    """Every bundled scenario's directory by id."""
    return {path.parent.name: path.parent for path in sorted(bundled_root().glob("*/scenario.yml"))}

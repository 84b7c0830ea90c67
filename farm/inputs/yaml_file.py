"""A YAML or JSON file as a model, with the line of every problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from farm.errors import Problem

M = TypeVar("M", bound=BaseModel)


class YamlFile:
    """A parsed file that knows on which line each field stands."""

    def __init__(self, path: Path):
        self.path = path
        self.problems: list[Problem] = []
        self.value: Any = None
        self._root: yaml.Node | None = None
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            self.problems.append(Problem(str(path), f"cannot be read: {reason}"))
            return
        try:
            self._root = yaml.compose(_unfenced(text), Loader=yaml.SafeLoader)
            self.value = yaml.safe_load(_unfenced(text)) if self._root else {}
            self._duplicates(self._root)
        except (yaml.YAMLError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            message = getattr(error, "problem", None) or "is nested too deeply"
            self.problems.append(Problem(str(path), f"not valid YAML: {message}", mark.line + 1 if mark else None))

    def _duplicates(self, node: yaml.Node | None) -> None:
        if isinstance(node, yaml.MappingNode):
            seen = set()
            for key, value in node.value:
                if key.value in seen:
                    self.problems.append(
                        Problem(str(self.path), f"{key.value!r} stands twice", key.start_mark.line + 1)
                    )
                seen.add(key.value)
                self._duplicates(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                self._duplicates(value)

    def line(self, *location: str | int) -> int | None:
        """The line (from 1) of a field, or of the nearest thing around it."""
        node = self._root
        for part in location:
            inner: yaml.Node | None = None
            if isinstance(node, yaml.MappingNode):
                inner = next((value for key, value in node.value if key.value == str(part)), None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                inner = node.value[part]
            # Parts that name a union's member have no node of their own.
            node = inner or node
        return node.start_mark.line + 1 if node else None

    def problem(self, message: str, *location: str | int) -> Problem:
        """A problem with a field of this file."""
        return Problem(str(self.path), message, self.line(*location), ".".join(map(str, location)))

    def model(self, kind: type[M]) -> M | None:
        """The file as a model; None, with problems noted, when it does not fit."""
        if self.problems:
            return None
        if not isinstance(self.value, dict):
            self.problems.append(Problem(str(self.path), "must be a mapping of fields", 1))
            return None
        try:
            return kind.model_validate(self.value)
        except ValidationError as error:
            for item in error.errors():
                message = item["msg"].removeprefix("Value error, ")
                if item["type"] == "extra_forbidden":
                    message = "unknown field"
                elif item["type"] == "missing":
                    message = "is required"
                self.problems.append(self.problem(message, *item["loc"]))
            return None


def _unfenced(text: str) -> str:
    """Drop the ancestor's `---` fences; what follows the closing one is ignored. Line numbers stay."""
    lines = text.split("\n")
    if lines and lines[0].strip() == "---" and any(line.strip() == "---" for line in lines[1:]):
        closing = next(i for i, line in enumerate(lines) if i and line.strip() == "---")
        lines = ["", *lines[1:closing]]
    return "\n".join(lines)

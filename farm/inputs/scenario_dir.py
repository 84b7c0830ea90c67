"""A scenario directory, read and checked whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from farm.errors import Problem
from farm.inputs.yaml_file import YamlFile
from farm.model.oracle import OracleSpec
from farm.model.rubric import Rubric
from farm.model.scenario import ScenarioSpec


@dataclass(frozen=True)
class ScenarioDir:
    """A scenario and where its files are."""

    path: Path
    spec: ScenarioSpec
    oracle: OracleSpec
    prompt: str
    judge_brief: str

    @property
    def fixture(self) -> Path:
        """The directory the worktree is seeded from."""
        return self.path / "fixture"

    @property
    def layered(self) -> bool:
        """Whether the fixture is `baseline/` with an optional `change/` on top."""
        return (self.fixture / "baseline").is_dir()

    def optional_tree(self, name: str) -> Path | None:
        """A sub-directory, if there is one."""
        path = self.path / name
        return path if path.is_dir() else None


def load_scenario(path: Path, rubric: Rubric | None) -> tuple[ScenarioDir | None, list[Problem]]:
    """Read a scenario directory and hold it against the rubric; all problems at once."""
    problems: list[Problem] = []
    file = YamlFile(path / "scenario.yml")
    spec = file.model(ScenarioSpec)
    problems += file.problems
    oracle_path = path / "oracle.yml"
    oracle: OracleSpec | None = OracleSpec()
    oracle_file: YamlFile | None = None
    if oracle_path.exists():
        oracle_file = YamlFile(oracle_path)
        oracle = oracle_file.model(OracleSpec)
        problems += oracle_file.problems
    prompt = _text(path / "prompt.md", problems, required=True)
    brief = _text(path / "judge_brief.md", problems, required=False)
    if not (path / "fixture").is_dir():
        problems.append(Problem(str(path), "has no fixture/ directory"))
    if spec is None or oracle is None:
        return None, problems
    if spec.id != path.resolve().name:
        problems.append(file.problem(f"is {spec.id!r}, but the directory is named {path.resolve().name!r}", "id"))
    if rubric is not None:
        problems += _axes(spec, oracle, rubric, file, oracle_file)
    return (None if problems else ScenarioDir(path, spec, oracle, prompt, brief)), problems


def _text(path: Path, problems: list[Problem], *, required: bool) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if required:
            problems.append(Problem(str(path), "is missing"))
        return ""
    except (OSError, UnicodeDecodeError):
        problems.append(Problem(str(path), "cannot be read as UTF-8 text"))
        return ""
    if required and not text.strip():
        problems.append(Problem(str(path), "is empty"))
    return text


def _axes(
    spec: ScenarioSpec, oracle: OracleSpec, rubric: Rubric, file: YamlFile, oracle_file: YamlFile | None
) -> list[Problem]:
    problems = []
    if spec.type not in rubric.types:
        return [file.problem(f"the rubric has no type {spec.type!r}", "type")]
    known = rubric.types[spec.type].axes()
    names = ", ".join(known)
    for field, axes in (("oracle_axes", spec.oracle_axes), ("judge_axes", spec.judge_axes)):
        for position, axis in enumerate(axes):
            if axis not in known:
                problems.append(file.problem(f"unknown axis {axis!r}; {spec.type} axes are {names}", field, position))
    scored = {check.axis for check in oracle.checks}
    for position, check in enumerate(oracle.checks):
        assert oracle_file is not None
        if check.axis not in known:
            problems.append(
                oracle_file.problem(
                    f"unknown axis {check.axis!r}; {spec.type} axes are {names}", "checks", position, "axis"
                )
            )
        elif check.code is not None and check.code not in known[check.axis].codes:
            codes = ", ".join(known[check.axis].codes)
            problems.append(
                oracle_file.problem(f"{check.code!r} is no code of {check.axis}: {codes}", "checks", position, "code")
            )
    for axis in spec.oracle_axes:
        if axis in known and axis not in scored:
            problems.append(file.problem(f"axis {axis!r} has no check in oracle.yml", "oracle_axes"))
    for axis in spec.judge_axes:
        if axis in scored:
            problems.append(file.problem(f"axis {axis!r} is scored by the oracle already", "judge_axes"))
    return problems

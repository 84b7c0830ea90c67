"""Bad input: every problem at once, with file, line and field, before anything runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from farm.cli import schemas
from farm.errors import InputError
from farm.inputs.bundled import bundled_root, bundled_scenarios
from farm.inputs.models import resolve_model
from farm.inputs.scenario_dir import load_scenario
from farm.inputs.sweep_file import Overrides, load_rubric, load_sweep


def problems(path, **overrides):
    with pytest.raises(InputError) as caught:
        load_sweep(path, Overrides(**overrides), {})
    return [str(problem) for problem in caught.value.problems]


def test_bundled_scenarios_are_valid():
    rubric, _ = load_rubric(None)
    found = bundled_scenarios()
    assert len(found) >= 6
    loaded = {name: load_scenario(path, rubric) for name, path in found.items()}
    assert {name: faults for name, (_, faults) in loaded.items() if faults} == {}
    assert {scenario.spec.type for scenario, _ in loaded.values() if scenario} == {"run", "spec", "review"}


def test_all_problems_at_once(tmp_path):
    scenario = tmp_path / "mine"
    shutil.copytree(bundled_root() / "fix-failing-test", scenario)
    (scenario / "scenario.yml").write_text("id: mine\njudge_axes: [clarty]\nsize: 3\n")
    (scenario / "prompt.md").unlink()
    sweep = tmp_path / "s.yml"
    sweep.write_text(
        "scenarios: [mine, absent]\nvariants:\n  - name: baseline\n    producer: {type: script, file: no.py}\n"
    )
    found = problems(sweep)
    assert f"{scenario}/scenario.yml:3: size: unknown field" in found
    assert f"{scenario}/prompt.md: is missing" in found
    assert any(line.startswith(f"{sweep}:1: scenarios.1: no scenario directory 'absent'") for line in found)
    assert any(f"{sweep}:4: variants.0.producer.file: no file 'no.py'" in line for line in found)


def test_unknown_axis_is_named_with_its_line(tmp_path):
    scenario = tmp_path / "mine"
    shutil.copytree(bundled_root() / "fix-failing-test", scenario)
    spec = (scenario / "scenario.yml").read_text().replace("id: fix-failing-test", "id: mine")
    (scenario / "scenario.yml").write_text(spec)
    (scenario / "oracle.yml").write_text("checks:\n  - {id: a, type: cmd, cmd: 'true', axis: corectness}\n")
    _, found = load_scenario(scenario, load_rubric(None)[0])
    assert any(str(p).startswith(f"{scenario}/oracle.yml:2: checks.0.axis: unknown axis 'corectness'") for p in found)


SWEEP = """\
scenarios: [fix-failing-test]
variants:
  - name: baseline
    producer: {{type: command, argv: [agent, "{{model}}"]}}
    model: {producer}
judge: {{type: openai, model: {judge}}}
"""


def test_same_family_is_refused_unless_allowed(tmp_path):
    sweep = tmp_path / "s.yml"
    sweep.write_text(SWEEP.format(producer="gpt-4o", judge="azure/gpt-5"))
    (only,) = problems(sweep)
    assert only.startswith(f"{sweep}:3: variants.0:") and "of one family (openai-gpt)" in only
    assert load_sweep(sweep, Overrides(allow_same_family=True), {}).spec.allow_same_family
    sweep.write_text(SWEEP.format(producer="brand-new", judge="gpt-5"))
    assert "is unknown" in problems(sweep)[0]
    sweep.write_text(SWEEP.format(producer="claude-sonnet-4", judge="gpt-5"))
    assert load_sweep(sweep, Overrides(), {}).judge.model == "gpt-5"


def test_model_resolution_order(tmp_path):
    role = tmp_path / "developer.yml"
    role.write_text('role: developer\nmodel: "from-file"  # a comment\n')
    chain = [("flag", {"FARM_PRODUCER_MODEL": "env"}, "sweep"), (None, {"FARM_PRODUCER_MODEL": "env"}, "sweep")]
    chain += [(None, {}, "sweep"), (" ", {"FARM_PRODUCER_MODEL": ""}, None)]
    found = [resolve_model("producer", *links, role) for links in chain]
    assert [r.model for r in found] == ["flag", "env", "sweep", "from-file"]
    assert [r.source for r in found] == ["--producer-model", "FARM_PRODUCER_MODEL", "sweep", str(role)]
    assert resolve_model("judge", None, {}, None, None) == (None, "none")


def test_duplicate_keys_and_broken_yaml(tmp_path):
    sweep = tmp_path / "s.yml"
    sweep.write_text("name: a\nname: b\n")
    assert f"{sweep}:2: 'name' stands twice" in problems(sweep)
    sweep.write_text("name: [a\n")
    assert "not valid YAML" in problems(sweep)[0]


def test_committed_schemas_are_current():
    for name in schemas.WRITTEN:
        committed = Path(bundled_root(), "schemas", f"{name}.schema.json").read_text()
        assert json.loads(committed) == json.loads(schemas.text(name)), (
            f"run: farm schema -o scenarios/schemas ({name})"
        )

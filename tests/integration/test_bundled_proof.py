"""Every bundled scenario fails under `nop` and passes under its reference solution, by really running it."""

from __future__ import annotations

import pytest

from farm.inputs.bundled import bundled_scenarios
from farm.inputs.sweep_file import Overrides, load_sweep
from farm.scheduler.submit import submit
from farm.store.local import LocalStore
from farm.store.runs import Runs
from workers.embedded import run_embedded

SWEEP = """\
scenarios: [{scenarios}]
trials: 1
baseline: nop
variants:
  - {{name: nop, producer: nop}}
  - {{name: solution, producer: solution}}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    home = tmp_path_factory.mktemp("proof")
    (home / "s.yml").write_text(SWEEP.format(scenarios=", ".join(bundled_scenarios())))
    store = LocalStore(home / "store")
    manifest = submit(load_sweep(home / "s.yml", Overrides(), {}), store)
    run_embedded(manifest, store, 2, lambda state: None, "redis")
    return {(r.scenario, r.variant): r for r in Runs(store).results(manifest.run_id)}


@pytest.mark.parametrize("scenario", bundled_scenarios())
def test_nop_fails_and_solution_passes(results, scenario):
    nop, solution = results[scenario, "nop"].score, results[scenario, "solution"].score
    assert nop is not None and not nop.passed and nop.fail_reason
    assert solution is not None and solution.passed
    observed = {axis.name: axis.score for axis in solution.axes if axis.confidence}
    assert observed and set(observed.values()) == {1.0}


def strip_slash(home, oracle_extra=""):
    """A scenario directory in the ancestor's form."""
    path = home / "strip-slash"
    (path / "fixture").mkdir(parents=True)
    (path / "scenario.yml").write_text(
        "---\nid: strip-slash\ntype: run\nscope: patch\nprinciple_focus: [5]\ndescription: Join URLs.\n"
        "oracle_axes: [correctness, scope, regression_risk]\njudge_axes: [clarity, self_verification]\n---\n"
    )
    (path / "prompt.md").write_text("`python3 -m unittest -q` fails. Repair urljoin.py so it passes.\n")
    (path / "judge_brief.md").write_text("Clarity 1.0 = one obvious expression; 0.5 = needless branches.\n")
    (path / "oracle.yml").write_text(
        """\
checks:
  - {id: suite-passes, type: cmd, cmd: "PYTHONDONTWRITEBYTECODE=1 python3 -m unittest -q", axis: correctness}
  - {id: small-diff, type: diff_stats, max_added_lines: 6, max_removed_lines: 4, max_files: 1, axis: scope}
  - {id: one-file, type: diff_files, allowed: ["urljoin.py"], forbidden: ["test_*.py"], axis: scope}
  - {id: test-kept, type: file_contains, path: test_urljoin.py, pattern: "def test_single_slash", axis: regression_risk}
  - {id: no-scratch, type: file_missing, path: notes.tmp, axis: regression_risk}
"""
        + oracle_extra
    )
    (path / "fixture" / "urljoin.py").write_text('def join(base, tail):\n    return base + "/" + tail\n')
    (path / "fixture" / "test_urljoin.py").write_text(
        "import unittest\nfrom urljoin import join\n\n\nclass T(unittest.TestCase):\n"
        '    def test_single_slash(self):\n        self.assertEqual(join("http://h/", "/x"), "http://h/x")\n'
    )
    return path


def test_the_ancestors_directory_loads_and_scores_as_documented(tmp_path):
    strip_slash(tmp_path)
    (tmp_path / "s.yml").write_text(
        """\
scenarios: [strip-slash]
trials: 1
variants:
  - {name: baseline, producer: nop}
  - name: fix
    producer:
      type: script
      run: |
        printf 'def join(base, tail):\\n    return base.rstrip("/") + "/" + tail.lstrip("/")\\n' > urljoin.py
  - {name: deleter, producer: {type: script, run: "rm test_urljoin.py"}}
  - name: committer
    producer:
      type: script
      run: "echo x > other.py; git add -A; git -c user.name=a -c user.email=a@b commit -qm hidden"
  - {name: loser, producer: {type: script, run: "touch notes.tmp; exit 7"}}
"""
    )
    store = LocalStore(tmp_path / "store")
    manifest = submit(load_sweep(tmp_path / "s.yml", Overrides(), {}), store)
    run_embedded(manifest, store, 2, lambda state: None, "redis")
    results = {r.variant: r for r in Runs(store).results(manifest.run_id)}
    scores = {
        name: {axis.name: axis.score for axis in r.score.axes if axis.confidence}
        for name, r in results.items()
        if r.score
    }
    assert scores["baseline"] == {"correctness": 0, "scope": 1, "regression_risk": 1}
    assert scores["fix"] == {"correctness": 1, "scope": 1, "regression_risk": 1}
    # A deleted file counts as touched: the documented meaning, not the ancestor's blind spot.
    assert scores["deleter"]["scope"] == 0 and scores["deleter"]["regression_risk"] == 0
    assert scores["committer"]["scope"] == 0
    assert (results["loser"].outcome, results["loser"].reason) == (
        "agent_error",
        "the producer ended with exit code 7",
    )
    assert scores["loser"]["regression_risk"] == 0
    assert results["fix"].judge_missing == "the sweep names no judge"

"""The sign test and the verdict rule, against vectors computed elsewhere."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.model.sweep import Statistics
from farm.model.verdict import Call
from farm.stats.sign import pairs_needed, smallest_two_sided_p, twice_median, two_sided_p
from farm.verdicts import decide

VECTORS = json.loads(Path(__file__).parents[1].joinpath("data/sign-test-vectors.json").read_text())
DELTAS = st.lists(st.integers(-10_000, 10_000), max_size=40)


@pytest.mark.parametrize("case", VECTORS["seed_rule"], ids=lambda case: case["name"])
def test_seed_rule(case):
    deltas = [round(10_000 * delta) for delta in case["deltas"]]
    call, reason = decide(deltas, Statistics())
    wanted = case["strict_two"]
    assert (call, reason) == (wanted["verdict"], wanted["reason"])
    wins, losses = sum(d > 0 for d in deltas), sum(d < 0 for d in deltas)
    assert float(two_sided_p(wins, losses)) == pytest.approx(case["agentrig"]["p"], abs=1e-12)


@pytest.mark.parametrize("m", range(1, 21))
def test_p_equals_enumeration(m):
    for wins in range(m + 1):
        as_extreme = sum(comb(m, k) for k in range(m + 1) if max(k, m - k) >= max(wins, m - wins))
        assert two_sided_p(wins, m - wins) == min(Fraction(1), Fraction(as_extreme, 2**m))


def test_large_n_neither_overflows_nor_loses_the_tail():
    assert two_sided_p(538, 537) == 1
    assert 0 < float(two_sided_p(50_500, 49_500)) < 0.01


def test_smallest_numbers():
    assert pairs_needed(0.05) == 6
    assert smallest_two_sided_p(5) == Fraction(1, 16)
    assert two_sided_p(0, 0) == 1
    assert twice_median([1, 2, 3, 10]) == 5


@given(DELTAS)
def test_swapping_the_arms_mirrors_the_verdict(deltas):
    call, reason = decide(deltas, Statistics())
    mirrored, same_reason = decide([-delta for delta in deltas], Statistics())
    mirror = {Call.HELPS: Call.HURTS, Call.HURTS: Call.HELPS, Call.INCONCLUSIVE: Call.INCONCLUSIVE}
    assert mirrored == mirror[call] and reason == same_reason


@given(DELTAS, st.randoms())
def test_order_does_not_matter(deltas, random):
    shuffled = deltas.copy()
    random.shuffle(shuffled)
    assert decide(shuffled, Statistics()) == decide(deltas, Statistics())

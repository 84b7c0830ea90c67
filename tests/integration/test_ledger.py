"""One suite over the ledger in memory and in a real Redis."""

from __future__ import annotations

import pytest

from farm.scheduler.ledger import MemoryLedger, Refusal
from farm.scheduler.redis_ledger import RedisLedger


@pytest.fixture(params=["memory", "redis"])
def ledger(request):
    if request.param == "memory":
        return MemoryLedger()
    return RedisLedger(request.getfixturevalue("redis_url"))


def test_life_of_a_job(ledger):
    ledger.open("r", 20, [3, 11], 1000.0)
    assert ledger.known("r") and not ledger.known("x")
    ledger.sent("r", [0, 1], 2, 1000.0)
    first = ledger.claim("r", 0, 1001.0, 10.0)
    assert first.refusal is None and first.fence > 1_000_000
    assert ledger.claim("r", 0, 1002.0, 10.0).refusal is Refusal.LEASED
    assert ledger.claim("r", 3, 1002.0, 10.0).refusal is Refusal.DONE
    assert ledger.claim("x", 3, 1002.0, 10.0).refusal is Refusal.UNKNOWN
    state = ledger.progress("r", 1003.0)
    assert (state.jobs, state.cursor, state.done, state.sent) == (20, 2, 2, {1: 1000.0})
    assert state.leased == {0} and {3, 11} <= state.done_ahead
    assert ledger.beat("r", 0, first.fence, 1005.0, 10.0)
    assert not ledger.beat("r", 0, first.fence + 5, 1005.0, 10.0)
    ledger.finish("r", 0, first.fence)
    assert ledger.claim("r", 0, 1006.0, 10.0).refusal is Refusal.DONE
    assert ledger.progress("r", 1006.0).done == 3


def test_an_expired_lease_can_be_taken_and_the_old_owner_stops(ledger):
    ledger.open("r", 4, [], 1000.0)
    old = ledger.claim("r", 2, 1000.0, 10.0)
    assert ledger.progress("r", 1011.0).expired == {2}
    new = ledger.claim("r", 2, 1011.0, 10.0)
    assert new.fence > old.fence
    assert not ledger.beat("r", 2, old.fence, 1012.0, 10.0)
    ledger.release("r", 2, old.fence, 1012.0)
    assert ledger.progress("r", 1013.0).leased == {2}
    ledger.release("r", 2, new.fence, 1020.0)
    assert ledger.progress("r", 1019.0).due == frozenset() and ledger.progress("r", 1021.0).due == {2}


def test_cancel_slots_and_locks(ledger):
    ledger.open("r", 4, [], 1000.0)
    claim = ledger.claim("r", 1, 1000.0, 10.0)
    ledger.cancel("r")
    assert ledger.claim("r", 2, 1000.0, 10.0).refusal is Refusal.CANCELLED
    assert not ledger.beat("r", 1, claim.fence, 1001.0, 10.0)
    ledger.register("a", 3, 1000.0, 60)
    ledger.register("b", 2, 1000.0, 60)
    assert ledger.slots(1001.0) == 5
    assert ledger.lock("l", "me", 1000.0, 60) and ledger.lock("l", "me", 1001.0, 60)
    assert not ledger.lock("l", "you", 1001.0, 60)
    ledger.close("r")
    assert not ledger.known("r")

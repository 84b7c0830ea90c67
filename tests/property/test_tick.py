"""The tick as a policy: whatever is lost, doubled or late, every job ends up done, and windows hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from farm.scheduler.ledger import MemoryLedger, Refusal
from farm.scheduler.tick import RunView, order_at, tick


@given(st.integers(1, 7), st.integers(0, 99), st.integers(1, 60))
def test_order_is_a_permutation_with_arms_side_by_side(variants, seed, blocks):
    order = [order_at(position, variants, seed) for position in range(variants * blocks)]
    assert sorted(order) == list(range(variants * blocks))
    for block in range(blocks):
        assert {i // variants for i in order[block * variants : (block + 1) * variants]} == {block}


def view_of(ledger, run_id, variants, now):
    return RunView(run_id, variants, 3, 0, ledger.progress(run_id, now))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(1, 30), st.integers(1, 4))
def test_every_job_is_done_once_under_faults(data, variants, blocks, slots):
    jobs = variants * blocks
    ledger, now, committed, broker = MemoryLedger(), 1000.0, [], []
    ledger.open("r", jobs, [], now)
    for round_ in range(4000):
        view = view_of(ledger, "r", variants, now)
        decision = tick([view], slots, len(broker), now)
        if decision.finished:
            break
        ledger.sent("r", [ref.index for ref in decision.send], decision.cursors.get("r"), now)
        assert len(ledger.progress("r", now).sent) <= max(10, 2 * slots) + variants
        calm = round_ > 200
        for ref in decision.send:
            fate = 1 if calm else data.draw(st.integers(0, 2))
            broker += [ref.index] * fate
        for _ in range(min(slots, len(broker))):
            index = broker.pop(0)
            claim = ledger.claim("r", index, now, 5.0)
            fate = "done" if calm else data.draw(st.sampled_from(["done", "dies", "retry", "redis"]))
            if claim.refusal:
                assert claim.refusal in (Refusal.DONE, Refusal.LEASED)
            elif fate == "done":
                committed.append(index)
                ledger.finish("r", index, claim.fence)
            elif fate == "retry":
                ledger.release("r", index, claim.fence, now + 2)
            elif fate == "redis":
                broker.clear()
                ledger.open("r", jobs, list(committed), now)
                break
        now += 1.0
    assert sorted(set(committed)) == list(range(jobs))
    assert len(committed) == jobs


def test_a_small_run_does_not_wait_for_a_large_one():
    ledger = MemoryLedger()
    ledger.open("big", 10_000, [], 0.0)
    first = tick([view_of(ledger, "big", 2, 0.0)], 2, 0, 0.0)
    ledger.sent("big", [r.index for r in first.send], first.cursors["big"], 0.0)
    for ref in first.send[:4]:
        ledger.finish("big", ledger.claim("big", ref.index, 0.0, 60).fence and ref.index, 0)
    ledger.open("small", 4, [], 0.0)
    second = tick([view_of(ledger, "big", 2, 1.0), view_of(ledger, "small", 2, 1.0)], 2, 99, 1.0)
    assert {ref.run_id for ref in second.send} == {"small"}


def test_a_cancelled_run_sends_nothing_and_finishes_when_idle():
    ledger = MemoryLedger()
    ledger.open("r", 100, [], 0.0)
    claim = ledger.claim("r", 5, 0.0, 60)
    ledger.cancel("r")
    assert tick([view_of(ledger, "r", 2, 1.0)], 4, 0, 1.0).finished == ()
    assert not ledger.beat("r", 5, claim.fence, 1.0, 60)
    ledger.release("r", 5, claim.fence, 1.0)
    decision = tick([view_of(ledger, "r", 2, 2.0)], 4, 0, 2.0)
    assert decision.send == () and decision.finished == ("r",)

"""The tick: one pure function decides what is sent now. No Redis, no store, no clock of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class JobRef:
    """A job as a message carries it."""

    run_id: str
    index: int


@dataclass(frozen=True)
class Policy:
    """How far the dispatcher may go ahead of the workers. Times in seconds."""

    window_per_slot: int = 2
    window_min: int = 10
    window_max: int = 5000
    resend_after: float = 5.0
    """A message that nobody claimed for this long is sent again, if the broker holds fewer than it should."""


@dataclass(frozen=True)
class RunView:
    """A run as the tick sees it. Its size is bounded by the window, not by the run."""

    run_id: str
    jobs: int
    variants: int
    seed: int
    priority: int
    cancelled: bool
    cursor: int
    """Positions before it have been sent at least once."""
    done: int
    """How many jobs have a result."""
    done_ahead: frozenset[int]
    """Indices with a result among those at and after the cursor that this tick may reach."""
    sent: Mapping[int, float]
    """When a message was sent that nobody has claimed yet, by index."""
    leased: frozenset[int]
    expired: frozenset[int]
    """Indices whose lease ran out: their worker is gone."""
    due: frozenset[int]
    """Indices whose retry is due."""


@dataclass(frozen=True)
class Decision:
    """What is to be done now."""

    send: tuple[JobRef, ...] = ()
    cursors: Mapping[str, int] = field(default_factory=dict)
    finished: tuple[str, ...] = ()


def order_at(position: int, variants: int, seed: int) -> int:
    """The job at a position: blocks in order, the arms of a block side by side in a seeded random order."""
    block, place = divmod(position, variants)
    arms = sorted(range(variants), key=lambda arm: hashlib.sha256(f"{seed}:{block}:{arm}".encode()).digest())
    return block * variants + arms[place]


def tick(views: Sequence[RunView], slots: int, queued: int, now: float, policy: Policy | None = None) -> Decision:
    """Decide what to send.

    Args:
        views: every active run.
        slots: job slots of all live workers.
        queued: messages the broker holds.
        now: seconds, on the clock of `RunView.sent`.
        policy: windows and patience.

    """
    policy = policy or Policy()
    window = max(policy.window_min, min(policy.window_max, policy.window_per_slot * slots))
    waiting = sum(len(view.sent) for view in views)
    room = window - waiting - len({(v.run_id, i) for v in views for i in v.leased})
    send: list[JobRef] = []
    cursors: dict[str, int] = {}

    lost_messages = queued < waiting
    for view in views:
        if view.cancelled:
            continue
        again = sorted(view.expired | view.due)
        if lost_messages:
            again += sorted(i for i, at in view.sent.items() if now - at >= policy.resend_after)
        send += [JobRef(view.run_id, index) for index in dict.fromkeys(again)]
    room -= len(send)

    fresh = {view.run_id: _fresh(view, cursors) for view in views if not view.cancelled}
    share = {view.run_id: len(view.sent) + len(view.leased) for view in views}
    hungry = [view for view in views if view.run_id in fresh]
    while room > 0 and hungry:
        # The highest priority first; among equals the run that has least under way.
        view = min(hungry, key=lambda v: (-v.priority, share[v.run_id], v.run_id))
        block = next(fresh[view.run_id], None)
        if block is None:
            hungry.remove(view)
            continue
        send += [JobRef(view.run_id, index) for index in block]
        share[view.run_id] += len(block)
        room -= len(block)

    finished = tuple(view.run_id for view in views if view.done >= view.jobs or (view.cancelled and not view.leased))
    return Decision(tuple(send), cursors, finished)


def _fresh(view: RunView, cursors: dict[str, int]) -> Iterator[list[int]]:
    """Blocks never sent before, without what is done; moves the cursor as they are taken."""
    position = view.cursor
    while position < view.jobs:
        end = min(position + view.variants, view.jobs)
        block = [order_at(p, view.variants, view.seed) for p in range(position, end)]
        block = [i for i in block if i not in view.done_ahead and i not in view.leased]
        position = cursors[view.run_id] = end
        if block:
            yield block

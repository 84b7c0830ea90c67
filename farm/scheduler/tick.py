"""The tick: one pure function decides what is sent now. No Redis, no store, no clock of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from farm.scheduler.progress import Progress


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
    """A run as the tick sees it."""

    run_id: str
    variants: int
    seed: int
    priority: int
    state: Progress


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
        now: seconds, on the clock of `Progress.sent`.
        policy: windows and patience.

    """
    policy = policy or Policy()
    window = max(policy.window_min, min(policy.window_max, policy.window_per_slot * slots))
    waiting = sum(len(view.state.sent) for view in views)
    room = window - waiting - len({(v.run_id, i) for v in views for i in v.state.leased})
    send: list[JobRef] = []
    cursors: dict[str, int] = {}

    lost_messages = queued < waiting
    for view in views:
        if view.state.cancelled:
            continue
        again = sorted(view.state.expired | view.state.due)
        if lost_messages:
            again += sorted(i for i, at in view.state.sent.items() if now - at >= policy.resend_after)
        send += [JobRef(view.run_id, index) for index in dict.fromkeys(again)]
    room -= len(send)

    fresh = {view.run_id: _fresh(view, cursors) for view in views if not view.state.cancelled}
    share = {view.run_id: len(view.state.sent) + len(view.state.leased) for view in views}
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

    finished = tuple(
        view.run_id
        for view in views
        if view.state.done >= view.state.jobs or (view.state.cancelled and not view.state.leased)
    )
    return Decision(tuple(send), cursors, finished)


def _fresh(view: RunView, cursors: dict[str, int]) -> Iterator[list[int]]:
    """Blocks never sent before, without what is done; moves the cursor as they are taken."""
    position = view.state.cursor
    while position < view.state.jobs:
        end = min(position + view.variants, view.state.jobs)
        block = [order_at(p, view.variants, view.seed) for p in range(position, end)]
        block = [i for i in block if i not in view.state.done_ahead and i not in view.state.leased]
        position = cursors[view.run_id] = end
        if block:
            yield block

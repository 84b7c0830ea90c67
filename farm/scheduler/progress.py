"""How far a run is: what the ledger tells the tick and people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Progress(NamedTuple):
    """A run's state. Its size is bounded by the window, not by the run."""

    jobs: int
    cursor: int
    """Positions before it have been sent at least once."""
    done: int
    """How many jobs have a result."""
    done_ahead: frozenset[int]
    """Indices with a result among those at and after the cursor that a tick may reach."""
    sent: Mapping[int, float]
    """When a message was sent that nobody has claimed yet, by index."""
    leased: frozenset[int]
    expired: frozenset[int]
    """Indices whose lease ran out: their worker is gone."""
    due: frozenset[int]
    """Indices whose retry is due."""
    retrying: int
    cancelled: bool

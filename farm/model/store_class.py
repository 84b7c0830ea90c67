"""What is known of a store's conditional writes."""

from __future__ import annotations

from enum import StrEnum


class StoreClass(StrEnum):
    """How far a store's "write only if the key is free" can be trusted."""

    ATOMIC = "atomic"
    """Exactly one writer wins, always."""
    RACY = "racy"
    """The condition is checked, then written: refused in peace, broken by writers at the same time."""
    NONE = "none"
    """The condition is ignored or unknown: the last writer wins."""

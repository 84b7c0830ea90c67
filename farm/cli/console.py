"""Printing: text to stdout, progress to stderr, one JSON envelope for machines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farm.scheduler.progress import Progress


def out(line: str = "") -> None:
    """A line of the answer."""
    print(line)


def note(line: str) -> None:
    """A line beside the answer: progress, hints, warnings."""
    print(line, file=sys.stderr)


def out_json(kind: str, data: Any) -> None:
    """The answer for machines."""
    as_of = datetime.now(UTC).isoformat(timespec="seconds")
    print(json.dumps({"schema": f"evalfarm/{kind}/1", "as_of": as_of, "data": data}, indent=2))


@contextmanager
def progress_view(total: int) -> Iterator[Callable[[Progress | None], None]]:
    """A bar on a terminal; elsewhere a line whenever another tenth is done."""
    if sys.stderr.isatty() and not os.environ.get("CI"):
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("jobs", total=total)

            def show(state: Progress | None) -> None:
                bar.update(task, completed=total if state is None else state.done)

            yield show
        return
    last = -1

    def lines(state: Progress | None) -> None:
        nonlocal last
        if state is None:
            return
        tenth = 10 * state.done // max(total, 1)
        if tenth > last:
            last = tenth
            note(f"{state.done}/{total} jobs done, {len(state.leased)} running")

    yield lines

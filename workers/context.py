"""What a worker process works with: store, ledger, scratch space, sandboxes."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from farm.model.manifest import FrozenScenario, Manifest
from farm.scheduler.ledger import Ledger
from farm.store.base import Store
from farm.store.blobs import Blobs
from farm.store.runs import Runs
from workers.worktree import discard, seed, snapshot


class Template(NamedTuple):
    """A seeded worktree to copy trials from; never written to."""

    tree: Path
    commit: str
    overlay: frozenset[str]
    """Paths that the overlay brought."""


class Context:
    """Everything a job needs besides its manifest."""

    def __init__(self, store: Store, ledger: Ledger, scratch: Path | None = None):
        self.store = store
        self.runs = Runs(store)
        self.blobs = Blobs(store)
        self.ledger = ledger
        self.scratch = scratch or Path(os.environ.get("FARM_SCRATCH", tempfile.gettempdir())) / "evalfarm"
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.worker = f"{socket.gethostname()}-{os.getpid()}"
        self.manifest = lru_cache(64)(self.runs.manifest)
        # A template never changes, so neither does what it holds: hashed once, not for each trial.
        self.snapshot = lru_cache(16)(snapshot)
        self._building = threading.Lock()

    def trial_directory(self, name: str) -> Path:
        """A fresh private directory for one attempt."""
        return Path(tempfile.mkdtemp(prefix=f"trial-{name}-", dir=self.scratch))

    def tree(self, digest: str) -> Path:
        """A stored tree, unpacked once per host and shared read-only."""
        target = self.scratch / "trees" / digest.removeprefix("sha256:")
        return self._once(target, lambda into: self.blobs.get_tree(digest, into))

    def template(self, scenario: FrozenScenario, overlay: str | None) -> Template:
        """The seeded worktree of a scenario, with or without an overlay, built once per host."""
        fixture = self.tree(scenario.fixture)
        layers = [[fixture / "baseline"], [fixture / "change"]] if scenario.layered else [[fixture]]
        layers = [layer for layer in layers if layer[0].is_dir()]
        brought: frozenset[str] = frozenset()
        if overlay:
            extra = self.tree(overlay)
            layers[0].append(extra)
            brought = frozenset(p.relative_to(extra).as_posix() for p in extra.rglob("*") if not p.is_dir())
        name = "-".join(d.removeprefix("sha256:")[:24] for d in (scenario.fixture, overlay) if d)
        target = self.scratch / "seeds" / name

        def build(into: Path) -> None:
            into.mkdir()
            (into / "commit").write_text(seed(into / "tree", layers))

        built = self._once(target, build)
        return Template(built / "tree", (built / "commit").read_text(), brought)

    def _once(self, target: Path, build: Callable[[Path], None]) -> Path:
        """A directory that is built at the first need and then stays as it is."""
        if not target.exists():
            with self._building:
                # Another thread may have built it while this one waited.
                if not target.exists():
                    partial = Path(tempfile.mkdtemp(prefix=".building-", dir=self.scratch))
                    build(partial / "d")
                    _publish(partial / "d", target)
                    discard(partial)
        return target


def _publish(source: Path, target: Path) -> None:
    """Move a finished directory into its shared place; another process may have been faster."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.rename(target)
    except OSError:
        if not target.exists():
            raise


def copy_tree(template: Path, into: Path) -> None:
    """Copy a seeded worktree for one trial."""
    shutil.copytree(template, into, symlinks=True)


class StepFailed(Exception):
    """A step could not be carried out; the outcome says whose doing it was."""

    def __init__(self, outcome: str, reason: str):
        self.outcome = outcome
        super().__init__(reason)


class Job(NamedTuple):
    """One attempt at a job."""

    manifest: Manifest
    scenario: FrozenScenario
    variant: str
    trial: int
    attempt: int
    directory: Path
    stop: threading.Event

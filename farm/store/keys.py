"""Every key of the store. Nobody else joins strings into keys.

runs/<run>/manifest.json
runs/<run>/jobs/<scenario>/<variant>/<trial>/<attempt>/<file>
runs/<run>/results/<scenario>/<variant>/<trial>.json           conditional put: exactly once
runs/<run>/verdict.json                                        derived
runs/<run>/control/<request>                                   requests, idempotent
active/<run>                                                   runs that still have work
blobs/sha256/<2>/<digest>
"""

from __future__ import annotations

import re

from farm.model.manifest import Cell

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

RUNS = "runs/"
ACTIVE = "active/"


def blob_key(digest: str) -> str:
    """Where a blob lies. Raises ValueError for what is no digest."""
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"not a digest: {digest!r}")
    hexadecimal = digest.removeprefix("sha256:")
    return f"blobs/sha256/{hexadecimal[:2]}/{hexadecimal}"


def active_key(run_id: str) -> str:
    """Marker of a run that still has work: what a dispatcher finds after losing everything."""
    return f"{ACTIVE}{run_id}"


class RunKeys:
    """The keys of one run."""

    def __init__(self, run_id: str):
        self.root = f"{RUNS}{run_id}/"
        self.manifest = self.root + "manifest.json"
        self.verdict = self.root + "verdict.json"
        self.results = self.root + "results/"
        self.cancel = self.root + "control/cancel"

    def result(self, cell: Cell) -> str:
        """The committed result of a job."""
        return f"{self.results}{cell.scenario}/{cell.variant}/{cell.trial}.json"

    def cell_of_result(self, key: str) -> Cell:
        """The inverse of `result`."""
        scenario, variant, name = key.removeprefix(self.results).split("/")[:3]
        return Cell(scenario, variant, int(name.removesuffix(".json")))

    def job(self, cell: Cell) -> str:
        """Prefix of everything the attempts of a job leave."""
        return f"{self.root}jobs/{cell.scenario}/{cell.variant}/{cell.trial}/"

    def attempt_file(self, cell: Cell, attempt: int, name: str) -> str:
        """A file of one attempt."""
        return f"{self.job(cell)}{attempt:016d}/{name}"

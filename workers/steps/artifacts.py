"""Files that an attempt leaves in the store."""

from __future__ import annotations

from farm.model.manifest import Cell
from farm.model.scalars import digest_of
from farm.model.steps import Artifact
from farm.store.keys import RunKeys
from workers.context import Context, Job


def attempt_key(job: Job, name: str) -> str:
    """The key of a file of this attempt."""
    cell = Cell(job.scenario.id, job.variant, job.trial)
    return RunKeys(job.manifest.run_id).attempt_file(cell, job.attempt, name)


def save(context: Context, job: Job, name: str, data: bytes) -> Artifact:
    """Store a file of this attempt."""
    key = attempt_key(job, name)
    context.store.put(key, data)
    return Artifact(key=key, digest=digest_of(data), size=len(data))


def load(context: Context, artifact: Artifact) -> bytes:
    """Read a stored artifact back, verified."""
    data = context.store.get(artifact.key)
    if digest_of(data) != artifact.digest:
        raise OSError(f"artifact {artifact.key} is damaged")
    return data

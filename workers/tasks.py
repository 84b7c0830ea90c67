"""The Celery tasks: thin. A message is only a hint, (run id, index); everything else is in the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from celery import Celery

from farm.scheduler.redis_ledger import RedisLedger
from farm.store.open import open_store
from workers.context import Context
from workers.job import run_job

RUN_JOB = "farm.run_job"


def register_tasks(app: Celery, context: Callable[[], Context]) -> None:
    """Give an app its tasks. The context is made in the process that runs them."""

    @app.task(name=RUN_JOB, ignore_result=True)  # type: ignore[untyped-decorator]
    def farm_run_job(run_id: str, index: int) -> None:
        run_job(context(), run_id, index)


@cache
def context_from_env() -> Context:
    """The context of a worker process: FARM_STORE, FARM_BROKER, FARM_SCRATCH."""
    return Context(open_store(os.environ["FARM_STORE"]), RedisLedger(os.environ["FARM_BROKER"]))

"""What a Celery worker process loads: `celery -A workers.celery_main worker`."""

from __future__ import annotations

import os

from workers.app import make_app
from workers.tasks import context_from_env, register_tasks

app = make_app(os.environ["FARM_BROKER"])
register_tasks(app, context_from_env)

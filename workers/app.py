"""The Celery app. Every setting that is not the default has its reason beside it."""

from __future__ import annotations

from typing import Any

from celery import Celery

PREFIX = "farm:"


def queue_name(capability: str) -> str:
    """Queues are by capability, never by run: a queue for each run would starve and litter."""
    return f"jobs.{capability}"


def make_app(broker: str) -> Celery:
    """An app on a broker (`redis://…`, `redis+socket://…`, or `memory://` inside one process)."""
    app = Celery("evalfarm", broker=broker, set_as_current=False)
    app.conf.update(**settings(broker))
    return app


def settings(broker: str) -> dict[str, Any]:
    """The app's settings."""
    transport: dict[str, Any] = (
        {"polling_interval": 0.02}
        if broker.startswith("memory")
        else {
            # Recovery comes from leases; redelivery by the broker is only a last net, far away.
            "visibility_timeout": 6 * 3600,
            "unacked_restore_interval": 10,
            "unacked_restore_throttle": 3,
            # One list for each queue: priority is decided by the dispatcher.
            "priority_steps": [0],
            # Half-open sockets are noticed; longer than the one second of a blocking fetch.
            "health_check_interval": 25,
            "socket_keepalive": not broker.startswith("redis+socket"),
            "socket_connect_timeout": 5,
            "socket_timeout": 30,
            # Several farms may share a server.
            "global_keyprefix": PREFIX,
        }
    )
    return {
        "broker_transport_options": transport,
        "broker_connection_retry_on_startup": True,
        # Come back after any outage, however long.
        "broker_connection_max_retries": None,
        # Nothing is held idle by a busy worker, and a killed one gives its messages back.
        "task_acks_late": True,
        "worker_prefetch_multiplier": 1,
        "task_reject_on_worker_lost": True,
        # An exception is our bug, not a reason to deliver again; retries are the dispatcher's.
        "task_acks_on_failure_or_timeout": True,
        # Results are in the store; a result backend would fill the broker.
        "task_ignore_result": True,
        # No code from a shared broker.
        "task_serializer": "json",
        "accept_content": ["json"],
        # Running jobs are paid for: a broken connection must not kill them.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        # Slots would stay idle after a reconnect.
        "worker_enable_prefetch_count_reduction": False,
        # Progress comes from the ledger; events overwhelm a broker with many workers.
        "worker_send_task_events": False,
        "task_send_sent_event": False,
        # Orphaned reply queues expire.
        "control_queue_ttl": 300,
        "control_queue_expires": 300,
        # Leaks of our own end with the process.
        "worker_max_tasks_per_child": 100,
        # The worker would swallow the host program's output.
        "worker_redirect_stdouts": False,
        "worker_hijack_root_logger": False,
        "task_create_missing_queues": True,
    }

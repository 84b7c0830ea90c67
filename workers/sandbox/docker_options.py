"""How a sandboxed container is created: the hardened set, all of it measured to cost nothing."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from workers.sandbox.base import SANDBOX_HOME, SANDBOX_LANG, Command, sandbox_uid

if TYPE_CHECKING:
    from docker.api import APIClient

FARM_LABEL = "evalfarm"
DEADLINE_LABEL = "evalfarm.deadline"
REAP_MARGIN = 120.0
"""Seconds past its deadline after which a container cannot belong to a live run any more."""

_TMPFS_INODES = 200_000


def new_name() -> str:
    """A name of our own making: it is known even when the answer to `create` is lost."""
    return f"evalfarm-{uuid.uuid4().hex}"


def labels_of(command: Command) -> dict[str, str]:
    """The labels of the container: ours win over the caller's."""
    expires = time.time() + command.deadline + REAP_MARGIN
    return {**command.labels, FARM_LABEL: "1", DEADLINE_LABEL: f"{expires:.0f}"}


def create(api: APIClient, name: str, image: str, command: Command) -> None:
    """Create the container of a command; nothing of it runs yet."""
    uid = sandbox_uid()
    # Entrypoint, not command: an image's own entrypoint must not wrap what we run. The engine copies the two
    # streams through two pipes and so loses their order; one pipe for both keeps it.
    api.create_container(
        image,
        name=name,
        entrypoint=["/bin/sh", "-c", 'exec "$@" 2>&1', "sh"],
        command=list(command.argv),
        user=f"{uid}:{uid}",
        hostname="sandbox",
        working_dir=command.workdir,
        environment={"HOME": SANDBOX_HOME, "LANG": SANDBOX_LANG, **command.env},
        labels=labels_of(command),
        healthcheck={"test": ["NONE"]},
        host_config=_host_config(api, command, uid),
    )


def _host_config(api: APIClient, command: Command, uid: int) -> Any:
    from docker.types import LogConfig, Mount, Ulimit

    limits = command.limits
    # tmpfs pages count against the memory limit: a size below it turns a full disk into a clean ENOSPC
    # instead of an out-of-memory kill. Docker's default is noexec, which breaks build tools in /tmp.
    scratch = f"rw,exec,nosuid,nodev,nr_inodes={_TMPFS_INODES}"
    return api.create_host_config(
        network_mode="bridge" if command.network == "full" else "none",
        # Without an init, orphans stay zombies and PID 1 ignores SIGTERM.
        init=True,
        read_only=True,
        tmpfs={
            "/tmp": f"{scratch},mode=1777,size={limits.memory // 2}",  # noqa: S108 (inside the sandbox)
            SANDBOX_HOME: f"{scratch},mode=0700,uid={uid},gid={uid},size={limits.memory // 4}",
        },
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        mem_limit=limits.memory,
        memswap_limit=limits.memory,
        nano_cpus=int(limits.cpus * 1e9),
        pids_limit=limits.pids,
        ulimits=[
            Ulimit(name="core", soft=0, hard=0),
            # The engine cannot limit the size of a bind mount; this bounds at least a single file.
            Ulimit(name="fsize", soft=limits.tree, hard=limits.tree),
        ],
        # Output comes through the attached stream; a log file would be an unbounded second copy.
        log_config=LogConfig(type="none"),
        # Mounts of type bind, not `binds`: a missing source is an error, not a new directory of root's.
        mounts=[
            Mount(target=mount.target, source=str(mount.source), type="bind", read_only=mount.read_only)
            for mount in command.mounts
        ],
    )

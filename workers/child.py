"""Processes that this one has started."""

from __future__ import annotations

import subprocess


def end(process: subprocess.Popen[bytes], grace: float) -> None:
    """Ask a child to stop, and after `grace` seconds kill it. It is reaped when this returns."""
    process.terminate()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

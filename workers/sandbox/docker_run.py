"""From a created container to how its command ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from workers.sandbox.base import STOP_POLL, CappedOutput, Command, Finished, SandboxError, Stopped

if TYPE_CHECKING:
    from docker.api import APIClient

_DRAIN = 5.0
"""How long a killed container may take to close its output before the engine counts as broken."""

_SIGNALLED = (137, 143)
_OUR_SIGNALS = ("oom", "die", "kill")


class ContainerRun:
    """One container, created and not started."""

    def __init__(self, api: APIClient, name: str, command: Command) -> None:
        self._api = api
        self._name = name
        self._command = command
        self._reader = _Reader(command.limits.output)

    def finish(self, stop: threading.Event | None) -> Finished:
        """Start the container and follow it to its end, its deadline or the stop event."""
        # Before the start: the engine never closes a stream that is attached after the end.
        stream = self._api.attach(self._name, stdout=True, stderr=True, stream=True, logs=False)
        try:
            self._reader.start(stream)
            self._api.start(self._name)
            began = time.monotonic()
            state = self._follow(began + self._command.deadline, stop)
            timed_out = state is None
            if state is None:
                state = self._kill()
            return self._finished(state, timed_out, time.monotonic() - began)
        finally:
            stream.close()

    def _follow(self, deadline: float, stop: threading.Event | None) -> dict[str, Any] | None:
        """The state after the command's end; None when the deadline came first."""
        pause = 0.005
        while (left := deadline - time.monotonic()) > 0:
            if stop is not None and stop.is_set():
                raise Stopped("stopped; the container is removed")
            if not self._reader.done.wait(left if stop is None else min(left, STOP_POLL)):
                continue
            # The stream ends with the container, or when the command closes its output and goes on.
            state = self._state()
            if not state["Running"]:
                return state
            time.sleep(min(pause, left))
            pause = min(2 * pause, STOP_POLL)
        return None

    def _kill(self) -> dict[str, Any]:
        import docker.errors

        try:
            self._api.kill(self._name)
        except docker.errors.APIError as error:
            if error.status_code != 409:  # 409: it ended by itself in this very moment
                raise
        self._reader.done.wait(_DRAIN)
        return self._state()

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._api.inspect_container(self._name)["State"]
        return state

    def _finished(self, state: dict[str, Any], timed_out: bool, seconds: float) -> Finished:
        if self._reader.error is not None:
            raise SandboxError(f"the output of the container broke off: {self._reader.error}")
        if state.get("Error") and not timed_out:
            raise SandboxError(f"the engine could not run the container: {state['Error']}")
        exit_code, oom = int(state["ExitCode"]), bool(state.get("OOMKilled"))
        if exit_code in _SIGNALLED and not oom and not timed_out:
            oom = self._explain_signal(state)
        output = self._reader.output
        return Finished(
            exit_code=None if timed_out else exit_code,
            timed_out=timed_out,
            oom=oom,
            output=output.data,
            output_truncated=output.truncated,
            seconds=_span(state, seconds),
        )

    def _explain_signal(self, state: dict[str, Any]) -> bool:
        """A signal that we did not send: whose was it? True when it was the memory limit after all.

        The engine logs a ``kill`` event for every signal that it sends itself, also when it shuts down,
        and keeps events in memory only: without our ``die`` event, it has been restarted since. Either way
        the command did not end by itself.
        """
        since, until = _timestamp(state["StartedAt"]), _timestamp(state["FinishedAt"])
        stream = self._api.events(
            since=int(since.timestamp()) - 1,
            until=int(until.timestamp()) + 1,
            filters={"container": self._name, "event": list(_OUR_SIGNALS)},
            decode=True,
        )
        seen = {str(event.get("status")) for event in stream}
        if "kill" in seen or "die" not in seen:
            raise SandboxError("the container was killed from outside, or the engine was restarted")
        return "oom" in seen


class _Reader:
    """Reads the attached stream in a thread of its own, until it ends."""

    def __init__(self, cap: int) -> None:
        self.output = CappedOutput(cap)
        self.done = threading.Event()
        self.error: Exception | None = None

    def start(self, stream: Iterable[bytes]) -> None:
        threading.Thread(target=self._read, args=(stream,), name="sandbox-output", daemon=True).start()

    def _read(self, stream: Iterable[bytes]) -> None:
        try:
            for chunk in stream:
                self.output.feed(chunk)
        except Exception as error:
            # Whatever it is, it belongs to the run's thread, which turns it into a SandboxError.
            self.error = error
        finally:
            self.done.set()


def _timestamp(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _span(state: dict[str, Any], fallback: float) -> float:
    """Seconds from start to end by the engine's clock: without what its API calls took."""
    try:
        seconds = (_timestamp(state["FinishedAt"]) - _timestamp(state["StartedAt"])).total_seconds()
    except (KeyError, ValueError):
        return fallback
    return seconds if seconds >= 0 else fallback

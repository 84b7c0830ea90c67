"""The verbs of the first five minutes: init, demo, doctor."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from farm.cli import console, running, schemas
from farm.errors import Exit, FarmError, InputError
from farm.inputs.bundled import bundled_root
from farm.model.store_class import StoreClass
from farm.store.open import open_store

_SWEEP = """\
# yaml-language-server: $schema=.farm/schemas/sweep.schema.json
name: first
scenarios: [scenarios/*]
trials: 6
variants:
  - name: baseline
    producer: nop
  - name: candidate
    # Replace by your agent, for example:
    # producer: {type: command, argv: [my-agent, --model, "{model}", --prompt-file, "{prompt_file}"]}
    producer: solution
"""


def init(directory: Path) -> None:
    """Write `farm.yml` and a copy of a bundled scenario to start from; nothing is overwritten."""
    sweep, scenario = directory / "farm.yml", directory / "scenarios" / "first-fix"
    for path in (sweep, scenario):
        if path.exists():
            raise InputError(f"{path} exists already; init writes into a directory without it")
    (directory / "scenarios").mkdir(parents=True, exist_ok=True)
    shutil.copytree(bundled_root() / "fix-failing-test", scenario, ignore=shutil.ignore_patterns("__pycache__"))
    spec = (scenario / "scenario.yml").read_text()
    spec = spec.replace("id: fix-failing-test", "id: first-fix").replace("bundled: true\n", "")
    (scenario / "scenario.yml").write_text(spec.replace("../schemas/", "../../.farm/schemas/"))
    oracle = (scenario / "oracle.yml").read_text()
    (scenario / "oracle.yml").write_text(oracle.replace("../schemas/", "../../.farm/schemas/"))
    sweep.write_text(_SWEEP)
    written = directory / ".farm" / "schemas"
    written.mkdir(parents=True, exist_ok=True)
    for name in schemas.WRITTEN:
        (written / f"{name}.schema.json").write_text(schemas.text(name))
    console.out(f"wrote {sweep} and {scenario}/")
    console.out(f"next: farm plan {sweep}, then farm run {sweep}")


def demo(store: str, slots: int) -> int:
    """Run the demo sweep. Its table holds a HURTS on purpose, so the gate is not the exit code."""
    path = bundled_root() / "demo" / "sweep.yml"
    console.note("demo: a scripted agent with and without an AGENTS.md, on three scenarios, 8 paired trials each")
    loaded = running.load(path)
    return running.run_here(loaded, store, slots, "auto", as_json=False, gate=False)


def doctor(store: str, broker: str | None, as_json: bool) -> int:
    """Check what a worker needs; required ones decide the exit code."""
    checks: list[dict[str, object]] = []

    def check(name: str, required: bool, probe: Callable[[], str]) -> None:
        try:
            checks.append({"name": name, "ok": True, "required": required, "detail": probe()})
        except FarmError as error:
            checks.append({"name": name, "ok": False, "required": required, "detail": str(error)})

    check("git", True, _git)
    check("sandbox process", False, _process)
    check("sandbox docker", False, _docker)
    check("store", True, lambda: _store(store))
    if broker:
        check("broker", True, lambda: _broker(broker))
    if as_json:
        console.out_json("doctor", checks)
    else:
        for row in checks:
            mark = "ok  " if row["ok"] else "FAIL" if row["required"] else "-   "
            console.out(f"{mark}  {row['name']:<16} {row['detail']}")
    return Exit.OK if all(row["ok"] or not row["required"] for row in checks) else Exit.INFRASTRUCTURE


def _git() -> str:
    found = shutil.which("git")
    if not found:
        raise FarmError("not installed; install git")
    return found


def _process() -> str:
    from workers.sandbox.process import process_sandbox

    info = process_sandbox().info()
    if not info.isolates:
        raise FarmError("no isolation: install bubblewrap")
    return f"{info.name}: {info.detail}; enforces {', '.join(sorted(info.enforces))}"


def _docker() -> str:
    from workers.sandbox.docker import DockerSandbox
    from workers.sandbox.images import BASE_IMAGE

    sandbox = DockerSandbox()
    info = sandbox.info()
    if not sandbox.has_image(BASE_IMAGE):
        raise FarmError(f"{info.detail} answers, but has no base image; run: farm image build")
    return f"{info.detail}; enforces {', '.join(sorted(info.enforces))}"


def _store(url: str) -> str:
    from farm.store.probe import probe

    store = open_store(url)
    store.ensure()
    found = probe(store)
    how = "first writer wins" if found is StoreClass.ATOMIC else "not enforced; results use fenced keys instead"
    return f"{store.url}: conditional writes are {found} ({how})"


def _broker(url: str) -> str:
    from farm.scheduler.redis_ledger import RedisLedger

    try:
        info = RedisLedger(url).redis.info("server")
    except Exception as error:
        raise FarmError(f"{url.rsplit('@', 1)[-1]} does not answer ({type(error).__name__})") from None
    return f"redis {info['redis_version']}"

"""Judge: soft axes, from five files and nothing else."""

from __future__ import annotations

import json
import time

from farm.errors import FarmError
from farm.llm.usage import Usage
from farm.model.judge import JudgeAxis, ModelJudge
from farm.model.rubric import AxisSpec
from farm.model.steps import JudgeRecord, OracleRecord, ProduceRecord
from farm.scheduler.submit import PRODUCER_DIR
from farm.scoring.judge_prompt import JudgeFiles
from farm.scoring.judgement import validate_answer
from workers.context import Context, Job
from workers.sandbox.base import Mount
from workers.steps.artifacts import load, save
from workers.steps.asking import ask_model
from workers.steps.running import run
from workers.worktree import read_inside

_ANSWER_CAP = 1 << 20


def judge(context: Context, job: Job, produced: ProduceRecord, oracle: OracleRecord) -> JudgeRecord | None:
    """Ask the sweep's judge for the scenario's soft axes. None when there are none to ask for.

    A judge that fails leaves the axes `na` with the reason: a missing opinion never loses a trial.
    """
    asked = job.scenario.judge_axes
    if not asked:
        return None
    started = time.monotonic()
    rubric = job.manifest.rubric.types[job.scenario.type]
    known = rubric.axes()
    axes = {name: known[name] for name in asked}
    frozen = job.manifest.judge
    model, asks, usage = None, 0, Usage()
    answers: tuple[JudgeAxis, ...] = ()
    if frozen is None:
        reason = "the sweep names no judge"
    elif isinstance(frozen.spec, ModelJudge):
        model = frozen.model
        files = _five_files(context, job, produced, oracle)
        try:
            deadline = job.scenario.deadlines.judge
            judgement = ask_model(frozen, files, axes, deadline, job.scenario.type, rubric.label)
            answers = judgement.answer.axes if judgement.answer else ()
            reason, asks, usage = judgement.reason, judgement.asks, judgement.usage
        except FarmError as error:
            reason = str(error)
    else:
        asks = 1
        answers, reason = _script(context, job, _five_files(context, job, produced, oracle), axes)
    record = JudgeRecord(
        axes=answers,
        reason=reason,
        model=model,
        asks=asks,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        seconds=time.monotonic() - started,
    )
    save(context, job, "judge.json", record.to_bytes())
    return record


def _five_files(context: Context, job: Job, produced: ProduceRecord, oracle: OracleRecord) -> JudgeFiles:
    """Exactly what a judge sees. Nothing in it names the variant."""
    scores = [{"axis": a.axis, "score": a.score, "evidence": a.evidence} for a in oracle.axes]
    return JudgeFiles(
        prompt=job.scenario.prompt.encode(),
        diff=load(context, produced.diff),
        transcript=load(context, produced.transcript),
        oracle=json.dumps(scores, indent=1).encode(),
        brief=job.scenario.judge_brief.encode(),
    )


def _script(
    context: Context, job: Job, files: JudgeFiles, axes: dict[str, AxisSpec]
) -> tuple[tuple[JudgeAxis, ...], str]:
    frozen = job.manifest.judge
    assert frozen is not None
    room = job.directory / "judge"
    room.mkdir()
    for name, data in files.named().items():
        (room / name).write_bytes(data)
    mounts = (Mount(context.tree(frozen.files), PRODUCER_DIR),) if frozen.files else ()
    env = {"FARM_JUDGE_AXES": ",".join(axes)}
    done = run(job, frozen.argv, room, mounts, env, job.scenario.deadlines.judge)
    if done.exit_code != 0:
        ended = "timed out" if done.timed_out else f"ended with {done.exit_code}"
        return (), f"the judge script {ended}"
    written = read_inside(room, "judge.json", _ANSWER_CAP)
    try:
        answer, faults = validate_answer(json.loads(written or b""), axes)
    except (ValueError, RecursionError):
        return (), "the judge script wrote no JSON to judge.json"
    return (answer.axes, "") if answer else ((), "; ".join(faults))

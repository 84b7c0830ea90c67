"""A scripted judge for runs without a model: simple rules on the diff and the transcript.

It reads the five files in its directory and the axes asked for in FARM_JUDGE_AXES, and writes judge.json. What a script
cannot tell gets confidence 0, so that nobody takes it for a judgement. It does not look at who produced the work.
"""

import json
import os
import re


def read(name):
    """Return the text of one of the five files, empty if it is missing."""
    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


PROMPT, DIFF, TRANSCRIPT = read("prompt.md"), read("diff.patch"), read("transcript.md")
FILES = re.findall(r"^diff --git a/.* b/(.*)$", DIFF, re.M)
ADDED = re.findall(r"^\+(?!\+\+ )(.*)$", DIFF, re.M)
REMOVED = re.findall(r"^-(?!-- )(.*)$", DIFF, re.M)


def findings():
    """Return the findings of the review that the diff adds."""
    try:
        listed = json.loads("\n".join(ADDED))["findings"]
        return [finding for finding in listed if isinstance(finding, dict)]
    except (ValueError, KeyError, TypeError):
        return []


def clarity():
    """Small changes are clear; asked for one line, everything above it is not."""
    if not ADDED and not REMOVED:
        return None
    limit = 1 if "one line" in PROMPT else 30
    remarks = sum(line.lstrip().startswith("#") for line in ADDED)
    size = f"{len(ADDED)} lines added, {len(REMOVED)} removed"
    if len(ADDED) <= limit and 2 * remarks <= len(ADDED):
        return 1, None, size
    return 0.5, "OQ-CLARITY-COMPLEXITY" if len(ADDED) > limit else "OQ-CLARITY-COMMENTS", size


def self_verification():
    """The last test run that the transcript quotes decides."""
    runs = re.findall(r"Ran \d+ tests? in [\d.]+s\s+(OK|FAILED)", TRANSCRIPT)
    if not runs:
        return 0, "AB-VERIFY-SKIPPED", "no test run in the transcript"
    if runs[-1] == "FAILED":
        return 0, "AB-VERIFY-REDHANDOFF", f"the last of {len(runs)} test runs failed"
    return 1, None, f"{len(runs)} test runs quoted, the last one green"


def tool_discipline():
    """Only files that the prompt names should be touched."""
    strangers = [name for name in FILES if name not in PROMPT]
    if strangers:
        return 0.5, "AB-TOOLS-UNSCOPED", "not named in the task: " + ", ".join(strangers)[:120]
    return 1, None, f"{len(FILES)} files touched, all named in the task"


def actionability():
    """A finding that shows an input and proposes a change can be acted on."""
    serious = [str(f.get("summary", "")) for f in findings() if f.get("severity") in ("major", "critical")]
    if not serious:
        return None
    useful = [text for text in serious if re.search(r"\w\(.*\)|`", text) and re.search(r"\b(use|should)\b", text, re.I)]
    if len(useful) == len(serious):
        return 1, None, "every serious finding has an example and a proposal"
    return 0.5, "RV-ACT-VAGUE", f"{len(serious) - len(useful)} serious findings without example or proposal"


def independence():
    """A reviewer writes the review, not the code."""
    edited = [name for name in FILES if name != "review.json"]
    if edited:
        return 0, "RV-IND-SAMEMODEL", "edited the work under review: " + ", ".join(edited)[:120]
    return (1, None, "only the review was written") if FILES else None


RULES = {rule.__name__: rule for rule in (clarity, self_verification, tool_discipline, actionability, independence)}


def main():
    """Score the axes asked for."""
    axes = []
    for name in filter(None, map(str.strip, os.environ.get("FARM_JUDGE_AXES", "").split(","))):
        answer = RULES[name]() if name in RULES else None
        if answer is None:
            axes.append({"name": name, "score": 0, "confidence": 0, "evidence": "a script cannot tell"})
            continue
        score, code, evidence = answer
        axis = {"name": name, "score": score, "confidence": 1, "evidence": evidence}
        axes.append({**axis, "code": code} if code else axis)
    with open("judge.json", "w", encoding="utf-8") as file:
        json.dump({"axes": axes}, file, indent=2)


main()

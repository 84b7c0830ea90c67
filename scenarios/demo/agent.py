"""A rule-based stand-in for a coding agent, for runs without a model.

It knows three kinds of task: repair functions that break on empty input, correct a setting, review a commit. It is
fallible: each observation it could make is made or missed by luck, drawn from FARM_SEED and the name of the observation.
Rules in the worktree's AGENTS.md change how it works, not how lucky it is. What it prints is its transcript.
"""

import os
import re
import subprocess
import sys
from hashlib import sha256


def read(path):
    """Return the text of a file, empty if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def write(path, text):
    """Write a file and say so."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"[edit] {path}")


def run(*argv):
    """Run a command, quote it and its output in the transcript, and return status and output."""
    print("$ " + " ".join("python3" if word == sys.executable else word for word in argv))
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout.rstrip())
    return done.returncode, done.stdout


def happens(what, chance):
    """Whether something with this chance happens. The same seed and name always give the same answer."""
    draw = sha256(f"{os.environ.get('FARM_SEED', '0')}:{what}".encode()).digest()
    return int.from_bytes(draw[:4], "big") < chance * 2**32


class Rules:
    """What AGENTS.md and the documents it refers to ask for."""

    def __init__(self):
        text = read("AGENTS.md")
        print("AGENTS.md: " + ("found, I follow it." if text else "none; I use my own judgement."))
        for path in re.findall(r"`([\w/.-]+\.md)`", text):
            text += read(path)
        text = " ".join(text.lower().split())
        self.until_green = "run the tests" in text and "until the suite is green" in text
        self.tidy = "tidier" in text
        self.report_everything = "report everything" in text


# Repairing ------------------------------------------------------------------------------------------------------------

PROMISE = re.compile(r'^def (\w+)\([^)]*\):\n    """[^"]*; (\S+) when (\w+) is (?:0|empty)\."""\n', re.M)


def guard(source, function):
    """Return the source with the guard that the docstring of a function promises."""
    for match in PROMISE.finditer(source):
        name, value, argument = match.groups()
        body = f"    if not {argument}:\n        return {value}\n"
        if name == function and not source.startswith(body, match.end()):
            return source[: match.end()] + body + source[match.end() :]
    return source


def run_tests():
    """Run the suite; return None when it is green, else the functions its tracebacks end in."""
    status, output = run(sys.executable, "-S", "-B", "-m", "unittest", "-q")
    return None if status == 0 else re.findall(r", in (\w+)\n(?:    .*\n)*\w+Error", output)


def repair(path, rules):
    """Guard the functions of a module against empty input."""
    print(f"Plan: read {path}, add the missing guards.")
    source = read(path)
    for name in (match[1] for match in PROMISE.finditer(source)):
        if happens(f"sees that {name} needs a guard", 0.55):
            print(f"{name} breaks on empty input: I add a guard.")
            source = guard(source, name)
        else:
            print(f"{name} looks fine to me.")
    if rules.tidy:
        source = source.replace('."""\n\n\n', '.\n\nThe functions answer an empty run instead of raising.\n"""\n\n\n', 1)
    write(path, source)

    if not rules.until_green and not happens("runs the tests unasked", 0.2):
        print("That should do it. The guards follow the docstrings, so I see no need for more.")
        return
    for _ in range(4):
        broken = run_tests()
        if broken is None:
            print("The suite is green.")
            return
        print("Still failing: " + ", ".join(broken))
        for name in broken:
            source = guard(source, name)
        write(path, source)
    print("I could not get the suite green.")


# Settings -------------------------------------------------------------------------------------------------------------


def configure(path, key, seconds, rules):
    """Set a key in an INI file to a number of seconds, in the unit that its name says."""
    print(f"Plan: set {key} in {path} to {seconds} seconds.")
    value = seconds * (1000 if key.endswith("_ms") else 1)
    if happens("slips a digit", 0.1):
        value //= 10
    text = re.sub(rf"^({key}\s*=\s*).*$", rf"\g<1>{value}", read(path), flags=re.M)
    if rules.tidy:
        print("While I am here: uniform spacing, keys in order, a line about the purpose of the file.")
        text = f"# Settings of {os.path.basename(path).split('.')[0]}; durations end in their unit.\n" + tidy_ini(text)
        if "retries = 0" in text and happens("takes retries = 0 for a mistake", 0.25):
            print("retries = 0 cannot be meant: the usual 3.")
            text = text.replace("retries = 0", "retries = 3")
    write(path, text)
    if rules.tidy and os.path.exists("README.md") and happens("documents the change", 0.4):
        write("README.md", read("README.md") + f"\n`{key}` is {value}.\n")
    print(f"Done: {key} is {value}.")


def tidy_ini(text):
    """Return INI text with one kind of spacing, sections as they were and keys sorted within."""
    sections = re.split(r"^(?=\[)", text, flags=re.M)
    tidy = []
    for section in filter(None, sections):
        lines = [re.sub(r"^(\w+)\s*=\s*", r"\1 = ", line) for line in section.split("\n") if line]
        tidy.append("\n".join(lines[:1] + sorted(lines[1:])) + "\n")
    return "\n".join(tidy)


# Reviewing ------------------------------------------------------------------------------------------------------------

# What the agent may notice in an added line: pattern, chance, chance when everything is to be reported, severity, text.
EYE = [
    (r"// size \+ 1", 0.6, 0.75, "major",
     "A total that is a multiple of size gives a page too many: page_count(20, 10) is 3. Use -(-total // size)."),
    (r"max\(number, 1\) - 1", 0.3, 0.6, "minor", "The clamp hides callers that pass a page number below 1."),
    (r"^DEFAULT_SIZE", 0.3, 0.6, "minor", "The default of 25 is arbitrary and should be a setting."),
    (r"raise ValueError", 0.3, 0.6, "minor", "This may raise where callers do not expect an exception."),
    (r'f"page ', 0.3, 0.6, "minor", "The text is not translated; other languages will see English."),
]  # fmt: skip


def review(rules):
    """Review the last commit and write review.json."""
    import json

    print("Plan: read the diff, note what is wrong, decide.")
    _, diff = run("git", "--no-pager", "diff", "HEAD~1", "HEAD", "--", "*.py")
    findings, file, line = [], "", 0
    for text in diff.splitlines():
        if text.startswith("+++ b/"):
            file = text[6:]
        elif text.startswith("@@"):
            line = int(re.search(r"\+(\d+)", text)[1]) - 1
        elif not text.startswith("-"):
            line += 1
            for pattern, chance, eager, severity, summary in EYE if text.startswith("+") else ():
                if re.search(pattern, text[1:]) and happens(pattern, eager if rules.report_everything else chance):
                    findings.append({"file": file, "line": line, "severity": severity, "summary": summary})
    block = any(finding["severity"] == "major" for finding in findings)
    print(f"{len(findings)} findings; " + ("this must not go in." if block else "nothing that should stop it."))
    decision = "block" if block else "approve"
    write("review.json", json.dumps({"decision": decision, "findings": findings}, indent=2) + "\n")


def main():
    """Read the task, pick what to do, do it."""
    prompt = read(os.environ["FARM_PROMPT_FILE"])
    print("Task: " + prompt.partition("\n")[0].lstrip("# "))
    rules = Rules()
    setting = re.search(r"`(\w+)`\s+in\s+`([\w/]+\.ini)`.*?\bmust be (\d+) seconds", prompt, re.S)
    module = re.search(r"`(\w+\.py)`", prompt)
    if "review.json" in prompt:
        review(rules)
    elif setting:
        configure(setting[2], setting[1], int(setting[3]), rules)
    elif module and "unittest" in prompt and PROMISE.search(read(module[1])):
        repair(module[1], rules)
    else:
        print("I do not know this kind of task and leave the files as they are.")


main()

"""Usage: suite.py green|bites.

green: the agent's suite passes, nothing is skipped and no test has disappeared.
bites: the agent's own tests fail on each of several faulty parse_duration functions.
"""

import json
import os
import sys
import unittest

FAULTY = {
    "returns nothing": "lambda text: None",
    "always zero": "lambda text: 0",
    "minutes for hours": "lambda text: {'1h30m': 90}.get(text.strip(), good(text))",
    "accepts everything": "lambda text: forgiving(text)",
}


def run(fault=None):
    """Run the suite in a forked child; return [ran, bad, skipped] or None if the child gave no report."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        sys.dont_write_bytecode = True
        sys.pycache_prefix = "/dev/null/none"
        sys.path.append(os.getcwd())
        import durations

        good = getattr(durations, "parse_duration", None)

        def forgiving(text):
            try:
                return good(text)
            except ValueError:
                return 0

        if fault:
            durations.parse_duration = eval(FAULTY[fault], {"good": good, "forgiving": forgiving})
        suite = unittest.defaultTestLoader.discover("tests", top_level_dir=os.getcwd())
        with open(os.devnull if fault else sys.stderr.fileno(), "w", closefd=bool(fault)) as stream:
            result = unittest.TextTestRunner(stream=stream, verbosity=0).run(suite)
        bad = len(result.errors) + len(result.failures) + len(result.unexpectedSuccesses)
        soft = len(result.skipped) + len(result.expectedFailures)
        os.write(writer, json.dumps([result.testsRun, bad, soft]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        report = pipe.read()
    os.waitpid(child, 0)
    return json.loads(report) if report else None


report = run()
if report is None:
    sys.exit("the tests ended before they could report")
ran, bad, soft = report
print(f"{ran} ran, {bad} failed, {soft} skipped or expected to fail")
if bad or soft or ran < 4:
    sys.exit("not green")
if sys.argv[1] == "bites":
    missed = [fault for fault in FAULTY if not (run(fault) or [0, 0, 0])[1]]
    if missed:
        sys.exit("the tests stay green on a faulty parse_duration: " + ", ".join(missed))

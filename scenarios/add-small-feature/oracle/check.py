"""Usage: check.py values|refusals. Compares parse_duration with known answers."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from probe import verify

VALUES = {
    "0s": 0, "7s": 7, "1h30m": 5400, "2h5s": 7205, "1h1m1s": 3661, "90m": 5400, "3600s": 3600, "10m0s": 600,
    "  45s ": 45, "\t3h\n": 10800, "-1m30s": -90, " -2h ": -7200, "100h": 360000, "0h0m0s": 0, "007s": 7,
}  # fmt: skip
REFUSALS = (
    "", " ", "-", "5", "-5", "h", "5d", "5x", "1m1h", "5s1m", "1h1h", "2s2s", "1.5h", "1,5h", "1h 30m", "- 5s", "--5s",
    "+5s", "1h-5m", "5 s", "1hm", "1h30", "30m1", "1H", "one hour", "1h30m extra", "1h\n5m", "1e3s", "1_0s",
)  # fmt: skip

if sys.argv[1] == "values":
    cases = [("durations", "parse_duration", [text], ["value", seconds]) for text, seconds in VALUES.items()]
    cases += [("durations", "format_duration", [seconds], ["value", text])
              for seconds, text in ((5400, "1h30m"), (0, "0s"), (-3605, "-1h5s"), (86399, "23h59m59s"))]  # fmt: skip
else:
    cases = [("durations", "parse_duration", [text], ["error", "ValueError"]) for text in REFUSALS]
    # Refusing everything is no answer either.
    cases.append(("durations", "parse_duration", ["1m"], ["value", 60]))

problems = verify(cases)
print("\n".join(problems) or "all answers as wanted")
sys.exit(bool(problems))

"""Usage: check.py empty|ordinary. Compares the three functions with known values."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from probe import verify

VALUES = {
    "empty": [
        ("success_rate", [0, 0], None),
        ("mean_duration", [[]], 0.0),
        ("slowest", [{}], None),
        ("success_rate", [0, 7], 0.0),
        ("mean_duration", [[0.0]], 0.0),
        ("slowest", [{"idle": 0.0}], "idle"),
    ],
    "ordinary": [
        ("success_rate", [5, 8], 62.5),
        ("success_rate", [2, 3], 66.7),
        ("success_rate", [11, 11], 100.0),
        ("mean_duration", [[0.5, 1.5, 2.5, 7.5]], 3.0),
        ("mean_duration", [[-1.0, 1.0]], 0.0),
        ("slowest", [{"a": 1.0, "b": 0.25}], "a"),
        ("slowest", [{"x": -2.0, "y": -1.0}], "y"),
    ],
}

problems = verify([("rates", name, args, ["value", value]) for name, args, value in VALUES[sys.argv[1]]])
print("\n".join(problems) or "all values as wanted")
sys.exit(bool(problems))

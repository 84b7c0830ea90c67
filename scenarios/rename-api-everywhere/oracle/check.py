"""Usage: check.py api|command|lookalike|leftovers."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from probe import verify

REPORT = "bolt 100/200\nnut 0/50  OUT\nwasher 35/50"
CASES = {
    "api": [
        ("inventory.stock", "on_hand", ["bolt"], ["value", 100]),
        ("inventory.stock", "on_hand", ["nut"], ["value", 0]),
        ("inventory.stock", "on_hand", ["washer"], ["value", 35]),
        ("inventory.stock", "on_hand", ["cog"], ["error", "KeyError"]),
        ("inventory.stock", "items", [], ["value", ["bolt", "nut", "washer"]]),
        ("inventory.stock", "getQty", ["bolt"], ["error", "AttributeError"]),
        ("inventory.getqty", "getQty", ["bolt"], ["error", "ModuleNotFoundError"]),
    ],
    "command": [
        ("inventory.cli", "run", [["on-hand", "bolt"]], ["value", "100"]),
        ("inventory.cli", "run", [["getqty", "bolt"]], ["error", "KeyError"]),
        ("inventory.cli", "run", [["report"]], ["value", REPORT]),
    ],
    "lookalike": [
        ("inventory.limits", "getQtyLimit", ["bolt"], ["value", 200]),
        ("inventory.limits", "getQtyLimit", ["nut"], ["value", 50]),
        ("inventory.cli", "run", [["limit", "bolt"]], ["value", "200"]),
        ("inventory.cli", "run", [["report"]], ["value", REPORT]),
    ],
}
# The documents keep naming the other team's function; without that, deleting the documents would be the easy way.
DOCUMENTED = {"README.md": ["on_hand", "on-hand"], "docs/api.md": ["stock.on_hand", "stock.items", "getQtyLimit"]}


def leftovers():
    """Return one line per place that still has an old name, and per name the documents lack."""
    found = []
    for folder, folders, files in os.walk("."):
        folders[:] = [name for name in folders if name not in (".git", "__pycache__")]
        for name in files:
            path = os.path.relpath(os.path.join(folder, name))
            if re.search(r"get_?qty", path, re.I):
                found.append(f"{path}: old name in the path")
            with open(path, encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    if re.search(r"get_?qty(?!Limit)", line, re.I):
                        found.append(f"{path}:{number}: {line.strip():.80}")
    for path, names in DOCUMENTED.items():
        text = open(path, encoding="utf-8").read() if os.path.isfile(path) else ""
        found += [f"{path}: {name} is not mentioned" for name in names if name not in text]
    return found


problems = leftovers() if sys.argv[1] == "leftovers" else verify(CASES[sys.argv[1]])
print("\n".join(problems) or "as wanted")
sys.exit(bool(problems))

"""Usage: check.py found|blocked|quiet. Reads review.json: a finding at the defect, the decision, the noise."""

import json
import sys

FILE, LINES = "paging.py", (6, 7, 10)  # page_count: its head, its promise, the faulty expression
SEVERITIES = ("critical", "major", "minor", "nit")


def load():
    """Return decision and findings of a well-formed review; leave with a reason otherwise."""
    try:
        with open("review.json", encoding="utf-8") as file:
            review = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"review.json cannot be read: {error}")
    if not isinstance(review, dict) or review.get("decision") not in ("approve", "block"):
        sys.exit("decision must be approve or block")
    findings = review.get("findings")
    if not isinstance(findings, list):
        sys.exit("findings must be a list")
    for finding in findings:
        if not (
            isinstance(finding, dict)
            and isinstance(finding.get("file"), str)
            and type(finding.get("line")) is int
            and finding.get("severity") in SEVERITIES
            and isinstance(finding.get("summary"), str)
            and len(finding["summary"].split()) >= 4
        ):
            sys.exit(f"not a finding with file, line, severity and a summary of some words: {finding!r:.200}")
    return review["decision"], findings


def hits(finding):
    """Whether a finding points at the defect and takes it seriously enough to be one."""
    path = finding["file"].removeprefix("./")
    return path == FILE and finding["line"] in LINES and finding["severity"] != "nit"


decision, findings = load()
found = [finding for finding in findings if hits(finding)]
others = [finding for finding in findings if not hits(finding) and finding["severity"] != "nit"]
# Several findings on the faulty function are one guess too many, not one hit more.
noise = len(others) + max(0, len(found) - 1)
print(f"decision {decision}; {len(found)} at the defect, {len(others)} elsewhere, {len(findings)} in all")
passed = {
    "found": bool(found),
    # Blocking without a reason, or for a wrong one, is luck.
    "blocked": decision == "block" and bool(found),
    # An empty review is quiet, but it is no review.
    "quiet": bool(findings) and noise <= 2 and len(findings) <= 8,
}
sys.exit(not passed[sys.argv[1]])

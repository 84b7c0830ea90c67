"""Usage: check.py criteria|scope|examples. Reads SPEC.md; the examples are run against right and wrong models."""

import re
import sys

VAGUE = (
    r"\b(quick(ly)?|fast|reasonabl[ey]|appropriate(ly)?|user[- ]friendly|etc|and so on|adequate(ly)?|properly|some time"
    r"|as needed|if necessary|tbd|todo)\b"
)
OUTCOMES = ("served", "gone", "limit", "denied")


def model(hours=72.0, inclusive=True, uses=5, off=0, order=("account", "age", "uses")):
    """Return the decision function for a set of rules."""

    def decide(age, downloads, account):
        applies = {
            "account": (account == "suspended", "denied"),
            "age": (age > hours or (age == hours and not inclusive), "gone"),
            "uses": (downloads >= uses + off, "limit"),
        }
        return next((outcome for hit, outcome in map(applies.get, order) if hit), "served")

    return decide


RIGHT = model()
WRONG = {
    "a week instead of 72 hours": model(hours=168.0),
    "links never expire": model(hours=float("inf")),
    "the last hour is missing": model(inclusive=False),
    "one download too many": model(off=1),
    "one download too few": model(off=-1),
    "downloads are not limited": model(uses=10**9),
    "suspended accounts are served": model(order=("age", "uses")),
    "used up is reported before too old": model(order=("account", "uses", "age")),
    "suspension is looked at last": model(order=("age", "uses", "account")),
}


def fail(reason):
    print(reason)
    sys.exit(1)


def sections():
    """Return the text below each second-level heading, outside of code blocks and comments."""
    try:
        with open("SPEC.md", encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError) as error:
        fail(f"SPEC.md cannot be read: {error}")
    text = re.sub(r"<!--.*?-->|^(```|~~~).*?^\1", "", text, flags=re.S | re.M)
    parts = re.split(r"^##[ \t]+(.+?)[ \t#]*$", text, flags=re.M)
    return {name.strip().lower(): body.strip() for name, body in zip(parts[1::2], parts[2::2])}


def entries(body):
    """Return the list entries of a section, each on one line."""
    found = re.split(r"^[-*][ \t]+", body, flags=re.M)[1:]
    return [" ".join(re.split(r"\n\s*\n", entry)[0].split()) for entry in found]


def numbered(spec):
    """Return the acceptance criteria: the entries that start with AC and a number, bold or not."""
    return [entry for entry in entries(spec.get("acceptance criteria", "")) if re.match(r"\W*AC-\d+", entry)]


def criteria(spec):
    listed = numbered(spec)
    if not 4 <= len(listed) <= 10:
        fail(f"{len(listed)} acceptance criteria; four to ten are asked for")
    numbers = [re.search(r"AC-(\d+)", entry)[1] for entry in listed]
    if len(set(numbers)) < len(numbers):
        fail("two criteria have the same number")
    bodies = set()
    for entry in listed:
        shape = re.search(r"\bgiven\b(.{8,}?)\bwhen\b(.{8,}?)\bthen\b(.{6,})", entry, re.I)
        if not shape:
            fail(f"not of the form Given, when, then: {entry:.120}")
        vague = re.search(VAGUE, entry, re.I)
        if vague:
            fail(f"{vague[0]!r} cannot be checked: {entry:.120}")
        if not re.search(r"\d|suspended|active|refused|counted|" + "|".join(OUTCOMES), "".join(shape.groups()), re.I):
            fail(f"names no limit, state or outcome: {entry:.120}")
        bodies.add(re.sub(r"\W+", " ", "".join(shape.groups())).lower())
    if len(bodies) < len(listed):
        fail("two criteria say the same")
    together = " ".join(listed).lower()
    for what, pattern in {
        "the lifetime of 72 hours": r"\b72\b|\b(three|3)[ -]days?\b",
        "the limit of 5 downloads": r"\b(5|five|fifth|5th|6th|sixth)\b",
        "suspended accounts": r"\bsuspended\b",
        "a file that is served": r"\bserved?\b|\b200\b",
        "outcome gone": r"\bgone\b|\b410\b",
        "outcome limit": r"\blimit\b|\b429\b",
        "outcome denied": r"\bdenied\b|\b403\b",
    }.items():
        if not re.search(pattern, together):
            fail(f"no criterion mentions {what}")
    print(f"{len(listed)} criteria, all well formed")


def scope(spec):
    for name, least in (("problem", 12), ("in scope", 4), ("out of scope", 4)):
        if len(re.findall(r"\w+", spec.get(name, ""))) < least:
            fail(f"section {name!r} is missing or empty")
    inside, outside = entries(spec["in scope"]), entries(spec["out of scope"])
    if not inside or len(set(outside)) < 2:
        fail("in scope needs one entry, out of scope two different ones")
    if set(inside) & set(outside):
        fail("an entry is both in and out of scope")
    put_off = r"renew|extend|prolong|remind|e?-?mail|notif|who (has )?download|history|audit|log\b|statistic|report"
    if not re.search(put_off, spec["out of scope"], re.I):
        fail("what the request itself puts off is not listed as out of scope")
    if re.search(r"\b(renew|remind)\w*", " ".join(numbered(spec)), re.I):
        fail("a criterion asks for what the request puts off")
    print(f"{len(inside)} entries in scope, {len(outside)} out of scope")


def examples(spec):
    rows = [
        [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        for line in spec.get("examples", "").splitlines()
        if line.strip().startswith("|")
    ]
    if not rows or rows[0] != ["age_hours", "downloads", "account", "outcome"]:
        fail("no table with the columns age_hours, downloads, account, outcome")
    table = []
    for row in rows[1:]:
        if all(re.fullmatch(r":?-+:?", cell) for cell in row):
            continue
        try:
            age, downloads, account, outcome = row
            example = (float(age), int(downloads), account, outcome)
        except ValueError:
            fail(f"not an example: {row}")
        if example[2] not in ("active", "suspended") or outcome not in OUTCOMES or not 0 <= example[0] < 1e6:
            fail(f"not an example: {row}")
        table.append(example)
    if not table or len(table) > 40:
        fail(f"{len(table)} examples; between one and forty are useful")
    for *request, outcome in table:
        if RIGHT(*request) != outcome:
            fail(f"contradicts the request or the policy: {request} is {RIGHT(*request)}, not {outcome}")
    missed = [name for name, decide in WRONG.items() if all(decide(*request) == out for *request, out in table)]
    if missed:
        fail("the examples do not rule out: " + "; ".join(missed))
    print(f"{len(table)} examples rule out all {len(WRONG)} wrong models")


{"criteria": criteria, "scope": scope, "examples": examples}[sys.argv[1]](sections())

"""Usage: check.py names|directories|contract|ordinary. Runs collect-logs.sh on real directories and looks at them."""

import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.abspath("collect-logs.sh")
ODD = [
    "plain.log", "two words.log", " leading.log", "trailing .log", "-n.log", "--.log", "-rf.log", "new\nline.log",
    "tab\there.log", "*.log", "?.log", "[a-z].log", "$HOME.log", "`id`.log", "$(touch oops).log", "quo'te.log",
    'dou"ble.log', "back\\slash.log", "back\\nslash.log", "semi;colon.log", "a&b.log", "x.log.log", "ümlaut.log",
    "\n.log",
]  # fmt: skip
OTHER = [".hidden.log", "notes.txt", "log", "a.log.txt", "two words"]


def fill(folder, names):
    os.makedirs(folder, exist_ok=True)
    for name in names:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("content of " + name)


def content(folder):
    """Return the files of a folder with their content; a folder inside counts as None."""
    found = {}
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        found[name] = None if os.path.isdir(path) else open(path, encoding="utf-8").read()
    return found


def wanted(names):
    return {name: "content of " + name for name in names}


def run(cwd, *args):
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": cwd, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["/bin/sh", SCRIPT, *args], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=20
    )
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def expect(what, found, right):
    if found != right:
        print(f"{what}: wanted {right!r}, got {found!r}"[:600])
        sys.exit(1)


def moved(what, result, count, status=0):
    expect(f"{what}: exit status", result[0], status)
    expect(f"{what}: output", result[1], f"moved {count}\n")


def names(top):
    src, dest = os.path.join(top, "src"), os.path.join(top, "dest")
    fill(src, ODD + OTHER)
    os.mkdir(os.path.join(src, "folder.log"))
    moved("odd names", run(top, src, dest), len(ODD))
    expect("odd names: DEST", content(dest), wanted(ODD))
    expect("odd names: SRC", content(src), {**wanted(OTHER), "folder.log": None})
    expect("odd names: left in the working directory", sorted(os.listdir(top)), ["dest", "src"])


def directories(top):
    for number, (src, dest) in enumerate([
        ("in", "out"), ("in here", "out there"), ("-in", "-out"), ("a*", "b?"), ("new\nline", "deep er/-x/out"),
        ("in\n", "out\n"), ("./in", "../" + os.path.basename(top) + "/sub out"), ("-e", "-n"), ("in here/", "out there/"),
        (".", "up"),
    ]):  # fmt: skip
        cwd = os.path.join(top, str(number), os.path.basename(top))
        os.makedirs(cwd)
        fill(os.path.join(cwd, src), ["one.log", "-two.log", "3 4.log"])
        what = f"SRC {src!r}, DEST {dest!r}"
        moved(what, run(cwd, src, dest), 3)
        expect(what + ": DEST", content(os.path.join(cwd, dest)), wanted(["one.log", "-two.log", "3 4.log"]))
        if src != ".":
            expect(what + ": SRC", content(os.path.join(cwd, src)), {})


def contract(top):
    src, dest = os.path.join(top, "src"), os.path.join(top, "dest")
    fill(src, ["notes.txt"])
    moved("nothing matches", run(top, src, dest), 0)
    expect("nothing matches: SRC", content(src), wanted(["notes.txt"]))
    fill(src, ["a.log", "b c.log", "d.log"])
    os.makedirs(dest, exist_ok=True)
    with open(os.path.join(dest, "b c.log"), "w", encoding="utf-8") as file:
        file.write("precious")
    moved("a name exists in DEST", run(top, src, dest), 2, status=1)
    expect("a name exists: DEST", content(dest), {**wanted(["a.log", "d.log"]), "b c.log": "precious"})
    expect("a name exists: SRC", content(src), wanted(["notes.txt", "b c.log"]))
    fresh = os.path.join(top, "fresh")
    for what, args in {
        "no argument": (), "one argument": (src,), "three arguments": (src, fresh, "x"),
        "SRC missing": (os.path.join(top, "none"), fresh), "SRC a file": (os.path.join(src, "notes.txt"), fresh),
    }.items():  # fmt: skip
        status, _, message = run(top, *args)
        expect(f"{what}: exit status", status, 2)
        expect(f"{what}: message on stderr", bool(message.strip()), True)
        expect(f"{what}: nothing made", sorted(os.listdir(top)), ["dest", "src"])
        expect(f"{what}: SRC", content(src), wanted(["notes.txt", "b c.log"]))


def ordinary(top):
    src, dest = os.path.join(top, "src"), os.path.join(top, "a", "b", "dest")
    fill(src, ["build.log", "test.log", "readme.md"])
    moved("ordinary names", run(top, src, dest), 2)
    expect("ordinary names: DEST", content(dest), wanted(["build.log", "test.log"]))
    expect("ordinary names: SRC", content(src), wanted(["readme.md"]))


with tempfile.TemporaryDirectory() as top:
    {"names": names, "directories": directories, "contract": contract, "ordinary": ordinary}[sys.argv[1]](
        os.path.realpath(top)
    )
print("as wanted")

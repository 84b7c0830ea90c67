"""Call functions of the module under test in a child process and hand back plain values.

The child knows the questions, never the answers. It starts isolated (no site, no environment, the tree last on the
path, no byte code from the tree); what the module prints goes to stderr; a child that leaves early gives no reply.
"""

import json
import os
import secrets
import subprocess
import sys

CHILD = """
import importlib, json, os, sys
reply = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.path.append(os.getcwd())
task = json.load(sys.stdin)
results = []
for module, name, args in task["calls"]:
    try:
        results.append(["value", getattr(importlib.import_module(module), name)(*args)])
    except Exception as error:
        results.append(["error", type(error).__name__])
json.dump({"token": task["token"], "results": results}, reply)
reply.flush()
"""


def call(calls, cwd=None):
    """Return one ["value", v] or ["error", type] per (module, function, args); None if the child gave no reply."""
    token = secrets.token_hex(8)
    argv = [sys.executable, "-I", "-S", "-B", "-X", "pycache_prefix=/dev/null/none", "-c", CHILD]
    try:
        done = subprocess.run(
            argv,
            input=json.dumps({"token": token, "calls": calls}).encode(),
            stdout=subprocess.PIPE,
            env={"PATH": os.defpath},
            cwd=cwd,
            timeout=20,
        )
        reply = json.loads(done.stdout)
        return reply["results"] if reply["token"] == token else None
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return None


def same(found, wanted):
    """Equality that also tells 0, 0.0 and False apart."""
    return json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def verify(cases, cwd=None):
    """Return one line per case that does not hold. A case is (module, function, args, wanted)."""
    results = call([case[:3] for case in cases], cwd)
    if results is None or len(results) != len(cases):
        return ["the module under test gave no usable reply"]
    return [
        f"{name}{tuple(args)!r}: wanted {wanted[1]!r}, got {result[0]} {result[1]!r}"
        for (_, name, args, wanted), result in zip(cases, results)
        if not same(result, wanted)
    ]

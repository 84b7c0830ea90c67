"""Usage: suite.py N. Run the tests below tests/ in a forked child; pass if N or more ran, all green, none skipped."""

import json
import os
import sys
import unittest

wanted = int(sys.argv[1])
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.close(reader)
    sys.dont_write_bytecode = True
    sys.pycache_prefix = "/dev/null/none"
    sys.path.append(os.getcwd())
    suite = unittest.defaultTestLoader.discover("tests", top_level_dir=os.getcwd())
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    bad = len(result.errors) + len(result.failures) + len(result.unexpectedSuccesses)
    soft = len(result.skipped) + len(result.expectedFailures)
    os.write(writer, json.dumps([result.testsRun, bad, soft]).encode())
    os._exit(0)
os.close(writer)
with os.fdopen(reader, "rb") as pipe:
    report = pipe.read()
os.waitpid(child, 0)
if not report:
    sys.exit("the tests ended before they could report")
ran, bad, soft = json.loads(report)
print(f"{ran} ran, {bad} failed, {soft} skipped or expected to fail; {wanted} or more must run and pass")
sys.exit(bad > 0 or soft > 0 or ran < wanted)

"""Usage: suite.py N [faulty]. Run the tests below tests/ in a forked child.

Pass if N or more ran, all green, none skipped. With `faulty`, on_hand is replaced by a wrong one first, and the tests
pass this check by failing.
"""

import json
import os
import sys
import unittest

wanted = int(sys.argv[1])
faulty = sys.argv[2:] == ["faulty"]
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.close(reader)
    sys.dont_write_bytecode = True
    sys.pycache_prefix = "/dev/null/none"
    sys.path.append(os.getcwd())
    if faulty:
        import inventory.stock

        inventory.stock.on_hand = lambda item: -1
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
if faulty:
    print(f"{bad} of {ran} tests fail on a wrong on_hand; three or more must")
    sys.exit(bad < 3)
print(f"{ran} ran, {bad} failed, {soft} skipped or expected to fail; {wanted} or more must run and pass")
sys.exit(bad > 0 or soft > 0 or ran < wanted)

import unittest

import durations


class ParseDuration(unittest.TestCase):
    def test_way_back(self):
        for seconds in (0, 1, 59, 60, 3600, 5400, 86399, -90):
            self.assertEqual(durations.parse_duration(durations.format_duration(seconds)), seconds)

    def test_blanks_around(self):
        self.assertEqual(durations.parse_duration(" 90m\n"), 5400)

    def test_refusals(self):
        for text in ("", "-", "5", "5d", "1m1h", "1h1h", "1.5h", "1h 5m", "--5s"):
            with self.assertRaises(ValueError, msg=text):
                durations.parse_duration(text)

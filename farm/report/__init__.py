"""How verdicts and results are shown."""

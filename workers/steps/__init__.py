"""The three steps of a job: produce, oracle, judge."""

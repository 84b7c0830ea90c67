"""From checks and a judge's answer to a trial's score. No I/O."""

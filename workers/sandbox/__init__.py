"""Sandboxes: run one command with mounts, limits and a deadline, and keep what it prints."""

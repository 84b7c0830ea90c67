"""The object store: the truth of every run. One interface, two backends."""

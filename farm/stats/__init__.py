"""Statistics. Pure, without I/O."""

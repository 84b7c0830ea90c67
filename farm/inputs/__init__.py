"""What people write: YAML files, scenario directories, sweeps. Read whole, every problem at once."""

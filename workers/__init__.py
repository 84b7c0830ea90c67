"""The data plane: what runs on a worker host."""

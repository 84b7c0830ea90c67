"""evalfarm: did this change help? The control plane and the library."""

__version__ = "0.1.0"

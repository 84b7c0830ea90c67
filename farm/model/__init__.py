"""Every record of evalfarm as a pydantic model. No I/O."""

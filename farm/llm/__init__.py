"""Models: their families, and the clients that reach them."""

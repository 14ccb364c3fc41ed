"""Tools that a model may call, by name."""

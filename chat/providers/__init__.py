"""Model services, by name."""

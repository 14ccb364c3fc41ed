"""Management commands for operators and staff."""

"""Attached files: what is accepted, the text in them, and its passages."""

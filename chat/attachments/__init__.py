"""Attached files: what is accepted, and the passages of their texts."""

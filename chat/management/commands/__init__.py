"""The commands that the README lists."""

"""Readers of files, one a kind: ``read(content, details)`` yields its blocks. They run in the process for files."""

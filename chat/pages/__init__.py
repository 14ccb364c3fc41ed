"""HTML over HTTP."""

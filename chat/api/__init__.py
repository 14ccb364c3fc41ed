"""The JSON and SSE API for scripts."""

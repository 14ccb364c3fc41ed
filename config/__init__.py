"""Settings, URLs and the server."""

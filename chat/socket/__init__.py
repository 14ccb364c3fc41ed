"""The page's WebSocket."""

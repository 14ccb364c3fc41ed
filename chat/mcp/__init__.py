"""Tools of MCP servers: servers that staff configure, their tools pinned to what staff have looked at."""

"""The MCP server: other programs search, read and ask for the person whose token they carry."""

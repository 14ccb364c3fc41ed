"""What can go wrong with an MCP server."""


class McpError(Exception):
    """The server can't be used. The text is for the log and for staff; it may repeat what the server said."""


class ToolChangedError(McpError):
    """The server describes a tool otherwise than staff have allowed it, or lists it no more."""

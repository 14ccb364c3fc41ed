"""What can go wrong with an MCP server."""


class McpError(Exception):
    """The server can't be used. The text is for staff who set it up; it may repeat what the server said.

    ``kind`` is for the log: what a server says may be what it was given.
    """

    def __init__(self, reason: str, kind: str = "") -> None:
        super().__init__(reason)
        self.kind = kind or type(self).__name__


class ToolChangedError(McpError):
    """The server describes a tool otherwise than staff have allowed it, or lists it no more."""

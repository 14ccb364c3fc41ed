"""How history looks on the wire: one module for each API."""

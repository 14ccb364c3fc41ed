"""What model services send besides plain text: tables with examples, without state."""

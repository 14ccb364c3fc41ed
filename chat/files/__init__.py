"""Files that people bring: their type by content, their text, and pictures without metadata."""

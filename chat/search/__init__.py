"""Full-text search on both databases: its indexes, words of languages without spaces, passages of a text."""

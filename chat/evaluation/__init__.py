"""How well questions about a folder of documents are answered: found, quoted, cited, refused, and how fast."""

"""Date formats by language; Django's own apply to languages that are missing here."""

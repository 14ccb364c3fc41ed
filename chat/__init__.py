"""Chat: conversations, turns, models, filings and their pages."""

"""How dates are written in English: from the year down, as filings are listed."""

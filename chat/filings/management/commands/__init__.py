"""Management commands of filings."""

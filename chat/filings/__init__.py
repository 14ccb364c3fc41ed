"""Filings: an app of its own inside chat. EDGAR documents: read, cut into passages, searched."""

"""EDGAR documents: read, cut into passages, searched."""

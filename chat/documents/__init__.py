"""What tools may search, read and cite: filings, files of the conversation, and collections of documents."""

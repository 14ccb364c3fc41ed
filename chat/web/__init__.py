"""Pages of the web that ``readWebPage`` reads: which addresses are allowed, the fetch, and pages as sources."""

"""Words for what is stored or happens in English or as data: failures, faults of the database, fixed texts."""

"""A running answer in memory, and who is subscribed to it."""

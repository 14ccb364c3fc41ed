"""What the next request of a conversation will contain, what it leaves out and why, and what it costs."""

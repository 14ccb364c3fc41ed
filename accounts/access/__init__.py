"""Who may do what: limits on attempts, access tokens, what a viewer may see, and the gate of the scratchpad."""

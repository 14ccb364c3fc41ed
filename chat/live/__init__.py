"""Running turns: their state and events, the HTML of their blocks, and the channel layer that carries them."""

"""The pure core: what is reasoning, what is answer, what is secret, what is kept, what goes back to the model."""

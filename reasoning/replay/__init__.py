"""History out: what the next request contains, in the form that its service expects."""

"""What real services refuse, rule by rule."""

"""What a turn looks like to one viewer."""

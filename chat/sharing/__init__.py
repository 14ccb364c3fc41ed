"""Share links and exports."""

"""Tags for the templates of the staff's pages."""

"""A person's conversations: access, list, search, titles, settings, model choice, slash commands."""

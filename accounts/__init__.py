"""Users, their settings and access tokens, and what each may see."""

"""Conversations, and the world."""

"""Mask secrets and personal data, truncate, cap."""

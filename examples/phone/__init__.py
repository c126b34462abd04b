"""A user who acts on a phone."""

"""Agents of frameworks, each with a scripted model in the place of yours, so that they run without a key."""

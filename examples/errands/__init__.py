"""A suite of users who come back, and two agents for it."""

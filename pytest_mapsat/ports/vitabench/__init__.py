"""VitaBench 1.0 and 2.0: its tasks as suites, its three worlds, its metrics."""

"""MobilityBench: its published table as a suite, and its metrics of a route planner."""

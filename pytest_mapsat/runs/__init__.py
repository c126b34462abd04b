"""Runs: one case, its grade, and all scorecards with what they add up to; a saved run graded again."""

"""Runs: one case, its grade, and all scorecards with their sums; a saved run graded again."""

"""Two rule-based agents made for the shipped suite: what it looks like green, and what it looks like red. Standard library only."""

"""Two rule-based agents to run the starter suite with, and to copy from. Standard library only."""

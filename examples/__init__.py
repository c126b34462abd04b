"""Four examples to copy: three agents and a test of one's own."""

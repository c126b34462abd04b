"""Route planning in two invented towns, and two agents made of rules that plan there."""

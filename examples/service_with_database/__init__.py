"""A service with a database of its own, its cases, and seven faults that can be switched on."""

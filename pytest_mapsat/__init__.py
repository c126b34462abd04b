"""pytest-mapsat: does your LLM agent still satisfy its users? Asked on every merge, in pytest."""

__version__ = "0.1.0"

"""promptfoo: its tests as cases. README.md says what becomes of each part of a configuration."""

"""Google's Agent Development Kit: its evalsets as cases. README.md says what becomes of each part."""

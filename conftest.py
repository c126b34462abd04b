"""For the project's own tests: pytest's plugin tester."""

pytest_plugins = ["pytester"]

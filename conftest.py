"""For the project's own tests, pytest's plugin tester; for the shipped suite, the world of its errands."""

pytest_plugins = ["pytester"]


def pytest_mapsat_world(config, case, suite):
    """Return what makes the world of a shipped case in the domain ``errands``."""
    del config
    if suite.manifest.name != "mapsat-starter":
        return None
    from shipped_agents.errands_world import world_of  # noqa: PLC0415  most runs play no such case

    return world_of(case)

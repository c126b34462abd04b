"""The options in pytest: registered, and asked before a run of ours begins. Loaded in every pytest run."""

from __future__ import annotations

import pytest

from pytest_mapsat.options import OPTIONS


def add_options(parser: pytest.Parser) -> None:
    """Register every option and every ini key."""
    group = parser.getgroup("mapsat", "agent benchmarks (pytest-mapsat; mapsat init writes a suite to begin with)")
    for option in OPTIONS.values():
        name, dest, text = f"--mapsat-{option.name}", option.dest, option.help.replace("%", "%%")
        if option.default and option.kind != "flag":
            text += f" (default {option.default})"
        if option.typed:
            if option.kind == "flag":
                group.addoption(name, action="store_const", const="on", dest=dest, help=text)
            elif option.kind == "optional":
                group.addoption(name, nargs="?", const="on", metavar=option.metavar, dest=dest, help=text)
            else:
                action = "append" if option.repeatable else "store"
                group.addoption(name, action=action, metavar=option.metavar, dest=dest, help=text)
        if option.ini:
            if option.repeatable:
                parser.addini(dest, option.help, type="linelist")
            else:
                parser.addini(dest, option.help, type="string")


def agent_spec(config: pytest.Config) -> str:
    """Return the agent's spec, or an empty string where no agent is active."""
    given = config.getoption("mapsat_agent", default=None)
    spec = given if given is not None else config.getini("mapsat_agent")
    spec = (spec or "").strip()
    return "" if spec == "off" else spec


def typed(config: pytest.Config, name: str) -> list[str]:
    """Return the values of an option on the command line itself: what stands in ``addopts`` counts as ini."""
    flag = f"--mapsat-{name}"
    values = []
    arguments = [str(argument) for argument in config.invocation_params.args]
    for place, argument in enumerate(arguments):
        if argument == flag:
            values += arguments[place + 1 : place + 2] or [""]
        elif argument.startswith(f"{flag}="):
            values.append(argument.removeprefix(f"{flag}="))
    return values


def refuse_without_agent(config: pytest.Config) -> None:
    """Refuse options of ours that were typed for a run that has no agent.

    Raises:
        pytest.UsageError: there is one, or ``--mapsat-agent`` is empty.
    """
    if any(not value.strip() for value in typed(config, "agent")):
        raise pytest.UsageError("--mapsat-agent names no agent: expected module:attr, or off")
    lonely = next((name for name in OPTIONS if name != "agent" and typed(config, name)), None)
    if lonely is not None:
        raise pytest.UsageError(f"--mapsat-{lonely} without an agent: give one with --mapsat-agent=module:attr")

"""How commands judge a profile: as the project that they are called in says in its pyproject.toml."""

from __future__ import annotations

from ticktree.analysis import Settings
from ticktree.cli.screen import complain
from ticktree.errors import TicktreeError


def settings_here() -> Settings:
    """Return the settings of the project in which the command was called.

    Raises:
        TicktreeError: its pyproject.toml cannot be understood.
    """
    from ticktree.configuration import configuration, settings

    return settings(configuration())


def settings_or_defaults() -> Settings:
    """Return the same; the defaults, and a complaint, where they cannot be understood.

    For the end of a program that ran for hours: what it recorded is shown all the same.
    """
    try:
        return settings_here()
    except TicktreeError as error:
        complain(f"{error}; the defaults are used")
        return Settings()

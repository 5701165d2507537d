"""The name of the person who is logged in."""

import getpass

from workbench.errors import InputError


def login() -> str:
    """Return the name of the login. Raises InputError if it has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise InputError("the login has no name", 'write your name: annotator="ann"') from None

"""Check the types of arguments, so that a slip is one line and not an error deep inside."""

from workbench.errors import InputError


def require(value: object, kind: type, name: str) -> None:
    """Raise InputError unless a value is of a kind. A class in place of an instance gets the call as the fix."""
    if isinstance(value, kind):
        return
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    if isinstance(value, type) and issubclass(value, kind):
        raise InputError(f"{name} is the class {value.__name__}", f"make one with its settings: {value.__name__}(...)")
    raise InputError(f"{name} is of type {type(value).__name__}", f"give {article} {kind.__name__}")

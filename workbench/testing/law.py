"""Laws: functions that raise LawError with the law's name, the input and the result if a component breaks them."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from workbench.errors import InputError, LawError, WorkbenchError

P = ParamSpec("P")
T = TypeVar("T")
_LONGEST = 200


def law(check: Callable[P, Iterator[str]]) -> Callable[P, None]:
    """Turn a generator of faults into a law, which takes the component first and raises LawError for the first fault.

    The generator's name is the law's name, and the first line of its docstring states the law.
    """

    @functools.wraps(check)
    def hold(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            fault, cause = next(check(*args, **kwargs), ""), None
        except WorkbenchError:  # says itself what is wrong, such as a server that does not answer
            raise
        except Exception as error:  # a component of another package can raise anything
            fault = ", ".join([*getattr(error, "__notes__", []), f"it raised {type(error).__name__}: {error}"])
            cause = error
        if fault:
            statement = str(check.__doc__).splitlines()[0].rstrip(".")
            raise LawError(f"{described(args[0])} breaks the law {check.__name__} ({statement}): {fault}") from cause

    return hold


@contextmanager
def given(what: str) -> Iterator[None]:
    """Name the input of a component's method in the report of any error that the method raises."""
    try:
        yield
    except Exception as error:
        error.add_note(what)
        raise


def check_all(component: T, base: type[object], laws: Sequence[Callable[[T], None]]) -> None:
    """Check every law of a component. Raises LawError for the first broken one, and InputError for anything but an instance."""
    if not isinstance(component, base):
        received = f"the class {component.__name__}" if isinstance(component, type) else f"a {type(component).__name__}"
        raise InputError(f"expected an instance of {base.__module__}.{base.__name__}, not {received}", "pass a component with its settings")
    for law in laws:
        law(component)


def described(component: object) -> str:
    """Describe a component in a message: a metric by the name of its function, others by their settings."""
    return getattr(getattr(component, "compute", None), "__name__", None) or shown(component)


def shown(value: Any) -> str:
    """Format a value for a message, shortened to 200 characters."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

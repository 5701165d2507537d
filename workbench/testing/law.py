"""Laws: functions that raise LawError with the law's name, the input and the result if a component breaks them."""

import copy
import functools
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from workbench.core.errors import InputError, LawError, WorkbenchError

P = ParamSpec("P")
T = TypeVar("T")
Q = TypeVar("Q")
R = TypeVar("R")
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


class Laws(list[Callable[..., None]]):
    """The laws of a kind of component. As a decorator, it turns a generator of faults into a law and adds it."""

    def __init__(self, base: type[object]) -> None:
        super().__init__()
        self._base = base

    def __call__(self, check: Callable[P, Iterator[str]]) -> Callable[P, None]:
        """Add a law."""
        self.append(law(check))
        return self[-1]

    def check(self, component: object) -> None:
        """Check every law of a component. Raises LawError for the first broken one, and InputError for anything but an instance."""
        if not isinstance(component, self._base):
            received = f"the class {component.__name__}" if isinstance(component, type) else f"a {type(component).__name__}"
            expected = f"{self._base.__module__}.{self._base.__name__}"
            raise InputError(f"expected an instance of {expected}, not {received}", "pass a component with its settings")
        for one in self:
            one(component)


def faults_by_place(yielded: Sequence[tuple[int, object]], requests: int, kind: type[object], nothing: Sequence[object]) -> Iterator[str]:
    """Yield what is wrong with results that name the place of their request, and with `nothing`, the results of no requests."""
    if sorted(place for place, _ in yielded) != list(range(requests)):
        yield f"for {requests} requests, it yields the places {shown([place for place, _ in yielded])}"
    if wrong := next((result for _, result in yielded if not isinstance(result, kind)), None):
        yield f"it yields {shown(wrong)}, a {type(wrong).__name__}"
    if nothing:
        yield f"for no requests, it yields {shown(nothing)}"


def in_order(yielded: Sequence[tuple[int, T]]) -> list[T]:
    """Return the results in the order of their requests."""
    return [result for _, result in sorted(yielded, key=lambda pair: pair[0])]


def asked_again(component: T, requests: Sequence[Q], results: Callable[[T, Sequence[Q]], list[R]]) -> Iterator[tuple[str, list[R]]]:
    """Yield the results of the requests in another order, alone and from a pickled copy, each with a phrase for it."""
    yield "in another order of requests", results(component, requests[::-1])[::-1]
    yield "alone", [results(component, [request])[0] for request in requests]
    yield "from a pickled copy", results(pickle.loads(pickle.dumps(component)), requests)


def faults_of_copies(component: object) -> Iterator[str]:
    """Yield a copy that does not equal the component, also one through pickle as workers get it."""
    for how, copied in (("a copy", copy.deepcopy(component)), ("a pickled copy", pickle.loads(pickle.dumps(component)))):
        if copied != component:
            yield f"{how} is {copied!r}"


def described(component: object) -> str:
    """Describe a component in a message: a metric by the name of its function, others by their settings."""
    return getattr(getattr(component, "compute", None), "__name__", None) or shown(component)


def shown(value: Any) -> str:
    """Format a value for a message, shortened to 200 characters."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

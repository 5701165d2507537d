"""A memo that belongs to the value whose tables it derives from, such as a run."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Memo:
    """The latest values of functions of one owner, by function and arguments. Threads share it. A pickle of it is empty: another process computes its own."""

    def __init__(self) -> None:
        self._values: dict[str, OrderedDict[Hashable, Any]] = {}
        self._guard = threading.Lock()

    def __reduce__(self) -> tuple[type["Memo"], tuple[()]]:
        return Memo, ()

    def value(self, function: str, arguments: Hashable, make: Callable[[], T], most: int) -> T:
        """Return the value of a function for its arguments, made if it is not among the `most` latest of the function."""
        with self._guard:
            values = self._values.setdefault(function, OrderedDict())
            if arguments in values:
                values.move_to_end(arguments)
                known: T = values[arguments]
                return known
        made = make()
        with self._guard:
            values[arguments] = made
            while len(values) > most:
                values.popitem(last=False)
        return made


class Owner(Protocol):
    """A value with a memo."""

    @property
    def memo(self) -> Memo:
        """Return the memo."""


O = TypeVar("O", bound=Owner)  # noqa: E741


def memoised(most: int) -> Callable[[Callable[Concatenate[O, P], T]], Callable[Concatenate[O, P], T]]:
    """Keep the `most` latest values of a function in the memo of its first argument."""

    def decorate(function: Callable[Concatenate[O, P], T]) -> Callable[Concatenate[O, P], T]:
        name = f"{function.__module__}.{function.__qualname__}"

        @wraps(function)
        def memoised_function(owner: O, /, *arguments: P.args, **options: P.kwargs) -> T:
            return owner.memo.value(name, (arguments, *options.items()), lambda: function(owner, *arguments, **options), most)

        return memoised_function

    return decorate

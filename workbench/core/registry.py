"""Tables of components by kind, builtin or from other packages. A package is loaded only when an experiment names its kind."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from workbench.errors import InputError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Components by kind: builtin ones, then those that installed packages declare in an entry point group such as `workbench.chunkers`.

    The name of an entry point is the kind, its value a subclass or an instance of `base`. Listing kinds imports nothing: looking up
    a kind raises InputError if its package is broken or if several packages declare it.
    """

    def __init__(self, builtin: Mapping[str, T], group: str, base: type[object]) -> None:
        self.builtin, self._group, self._base = builtin, group, base

    def __getitem__(self, kind: str) -> T:
        return self.builtin[kind] if kind in self.builtin else self._loaded(self._offers[kind])

    def __iter__(self) -> Iterator[str]:
        return iter([*self.builtin, *self._offers])

    def __len__(self) -> int:
        return len(self.builtin) + len(self._offers)

    def __contains__(self, kind: object) -> bool:
        return kind in self.builtin or kind in self._offers

    @cached_property
    def _offers(self) -> dict[str, list[EntryPoint]]:
        """Return the entry points of other packages by kind. One that would replace a builtin is skipped with a warning."""
        offers: dict[str, list[EntryPoint]] = {}
        for offer in sorted(entry_points(group=self._group), key=lambda offer: (offer.name, _package(offer))):
            if offer.name in self.builtin:
                warnings.warn(f"{_described(offer, self._group)}, a kind that Workbench already has; it is ignored", stacklevel=2)
            elif offer not in offers.get(offer.name, []):
                offers.setdefault(offer.name, []).append(offer)
        return offers

    def _loaded(self, offers: list[EntryPoint]) -> T:
        offer = offers[0]
        described = _described(offer, self._group)
        if len({_package(candidate) for candidate in offers}) > 1:
            others = ", ".join(_package(candidate) for candidate in offers[1:])
            raise InputError(f"{described}, and so does {others}", "uninstall all but one of them")
        try:
            component = offer.load()
        except Exception as error:  # importing another package can raise anything
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise InputError(f"{described}, which cannot be loaded ({reason})", f"update or uninstall {_package(offer)}") from error
        if not (issubclass(component, self._base) if isinstance(component, type) else isinstance(component, self._base)):
            raise InputError(f"{described}, but {offer.value} is not a {self._base.__module__}.{self._base.__name__}")
        return cast(T, component)


def _package(offer: EntryPoint) -> str:
    return offer.dist.name if offer.dist else "an unknown package"


def _described(offer: EntryPoint, group: str) -> str:
    return f"the package {_package(offer)!r} offers {offer.name!r} in {group}"

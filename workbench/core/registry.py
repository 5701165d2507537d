"""Components that other installed packages bring: one entry point each, loaded when an experiment names its kind."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from workbench.errors import InputError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Components by kind: the builtin ones, then those of an entry point group. Names are listed without importing anything."""

    def __init__(self, builtin: Mapping[str, T], group: str, base: type[object]) -> None:
        self.builtin = dict(builtin)
        self._group = group
        self._base = base

    def __getitem__(self, kind: str) -> T:
        if kind in self.builtin:
            return self.builtin[kind]
        return self._loaded(self._offers[kind])

    def __iter__(self) -> Iterator[str]:
        return iter([*self.builtin, *self._offers])

    def __len__(self) -> int:
        return len(self.builtin) + len(self._offers)

    def __contains__(self, kind: object) -> bool:
        return kind in self.builtin or kind in self._offers

    @cached_property
    def _offers(self) -> dict[str, list[EntryPoint]]:
        """What other packages offer, by kind; what would take a builtin's place is left out with a warning."""
        offers: dict[str, list[EntryPoint]] = {}
        for offer in sorted(entry_points(group=self._group), key=lambda offer: (offer.name, _package(offer))):
            if offer.name in self.builtin:
                warnings.warn(f"{_told(offer, self._group)}, a kind that Workbench has already; it is left out", stacklevel=2)
            elif offer not in offers.get(offer.name, []):
                offers.setdefault(offer.name, []).append(offer)
        return offers

    def _loaded(self, offers: list[EntryPoint]) -> T:
        offer = offers[0]
        told = _told(offer, self._group)
        if len({_package(other) for other in offers}) > 1:
            others = ", ".join(_package(other) for other in offers[1:])
            raise InputError(f"{told}, and so does {others}", "uninstall all but one of them")
        try:
            found = offer.load()
        except Exception as error:  # importing a stranger's module may raise anything
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise InputError(f"{told}, which cannot be loaded ({reason})", f"update or uninstall {_package(offer)}") from error
        if not (issubclass(found, self._base) if isinstance(found, type) else isinstance(found, self._base)):
            raise InputError(f"{told}, but {offer.value} is no {self._base.__module__}.{self._base.__name__}")
        return cast(T, found)


def with_plugins(builtin: Mapping[str, T], group: str, base: type[object]) -> Registry[T]:
    """A table of components with those that installed packages offer in an entry point group, such as `workbench.chunkers`.

    The name of an entry point is the kind, its value a subclass or an instance of `base`, as the builtin ones are. A package that is broken, or whose kind another
    package offers too, is an InputError when that kind is looked up and not before.
    """
    return Registry(builtin, group, base)


def _package(offer: EntryPoint) -> str:
    return offer.dist.name if offer.dist else "an unknown package"


def _told(offer: EntryPoint, group: str) -> str:
    return f"the package {_package(offer)!r} offers {offer.name!r} in {group}"

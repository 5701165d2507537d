"""Tables of components by kind, builtin or from other packages. A package is loaded only when an experiment names its kind."""

import inspect
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from workbench.core.component import Component
from workbench.core.errors import InputError, error_line

T = TypeVar("T")
C = TypeVar("C", bound=Component)


class Registry(Mapping[str, T], Generic[T]):
    """Components by kind: builtin ones, then those that installed packages declare in an entry point group such as `workbench.chunkers`.

    The name of an entry point is the kind, its value a subclass or an instance of `base`. Listing kinds imports nothing: looking up
    a kind raises InputError if its package is broken or if several packages declare it. `defined` are those that this process made.
    Entry points in `former` groups are read, too.
    """

    def __init__(self, builtin: Mapping[str, T], group: str, base: type[object], former: tuple[str, ...] = ()) -> None:
        self.builtin, self._group, self._base, self._former = builtin, group, base, former
        self.defined: dict[str, T] = {}

    def __getitem__(self, kind: str) -> T:
        here = self.builtin if kind in self.builtin else self.defined
        return here[kind] if kind in here else self._loaded(self._offers[kind])

    def __iter__(self) -> Iterator[str]:
        return iter([*self.builtin, *self.defined, *self._offers])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, kind: object) -> bool:
        return kind in self.builtin or kind in self.defined or kind in self._offers

    @cached_property
    def _offers(self) -> dict[str, list[EntryPoint]]:
        """Return the entry points of other packages by kind. One that would replace a builtin is skipped with a warning."""
        offers: dict[str, list[EntryPoint]] = {}
        found = [offer for group in (self._group, *self._former) for offer in entry_points(group=group)]
        for offer in sorted(found, key=lambda offer: (offer.name, _package(offer))):
            if offer.name in self.builtin:
                warnings.warn(f"{_described(offer)}, a kind that Workbench already has; it is ignored", stacklevel=2)
            elif offer not in offers.get(offer.name, []):
                offers.setdefault(offer.name, []).append(offer)
        return offers

    def _loaded(self, offers: list[EntryPoint]) -> T:
        offer = offers[0]
        described = _described(offer)
        if len({_package(candidate) for candidate in offers}) > 1:
            others = ", ".join(_package(candidate) for candidate in offers[1:])
            raise InputError(f"{described}, and so does {others}", "uninstall all but one of them")
        try:
            component = offer.load()
        except (Exception, SystemExit) as error:  # importing another package can raise anything
            reason = error_line(error)[:200]
            moved = isinstance(error, ModuleNotFoundError) and str(error.name).startswith("workbench.")
            reason += ", which another version had: docs/extending.md has the modules of this one" if moved else ""
            place = "the entry point" if offer.group == self._group else f"it, declare it in {self._group} (docs/extending.md)"
            fix = f"correct {place} or what it imports, or uninstall {_package(offer)}"
            raise InputError(f"{described}, which cannot be loaded ({reason})", fix) from error
        for fault, fix in self._faults(component, offer.name):
            raise InputError(f"{described}, but {offer.value} {fault}", fix)
        return cast(T, component)

    def _faults(self, component: object, name: str) -> Iterator[tuple[str, str]]:
        """Yield why a loaded object cannot be the component of this name, and the fix."""
        base, classes = (
            f"{self._base.__module__}.{self._base.__name__}",
            all(isinstance(builtin, type) for builtin in self.builtin.values()),
        )
        kind = component if isinstance(component, type) else type(component)
        if not issubclass(kind, self._base):
            yield f"is not a {base}", f"let the entry point name {'a subclass' if classes else 'an instance'} of it"
        elif classes != isinstance(component, type):
            wanted, given = ("a class", "an instance") if classes else ("an instance", "a class")
            yield f"is {given} of {base}", f"let the entry point name {wanted}"
        elif inspect.isabstract(component):
            missing = sorted(getattr(kind, "__abstractmethods__", ()))
            yield f"does not define {', '.join(missing)}", "define it in the class"
        # The kind of a component with settings, the name of a stage.
        field = getattr(kind, "model_fields", {}).get("kind")
        declared = field.default if field else getattr(component, "name", name)
        if isinstance(declared, str) and declared != name:
            yield f"calls itself {declared!r}", f"use one name in the entry point and in {'kind' if field else 'name'}"


def components(base: type[object], group: str, *builtin: type[C]) -> Registry[type[C]]:
    """Make the registry of components, classes derived from `base`, by their kinds."""
    return Registry({str(kind.model_fields["kind"].default): kind for kind in builtin}, group, base)


def _package(offer: EntryPoint) -> str:
    return offer.dist.name if offer.dist else "an unknown package"


def _described(offer: EntryPoint) -> str:
    return f"the package {_package(offer)!r} offers {offer.name!r} in {offer.group}"

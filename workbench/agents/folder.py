"""The working folder of an agent: every path that it names is inside, and its experiments run no code and no program."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from workbench.core.environment import expand, is_local
from workbench.core.errors import ExperimentError, InputError

if TYPE_CHECKING:
    from workbench.api.results import Results
    from workbench.llm.models.server import ServedModel
    from workbench.runner.experiment.read import ExperimentSpec

# How messages name an experiment that is given as text.
INLINE = "the experiment"
# A plan cuts the documents for each chunking, and cannot be stopped.
_MOST_CONFIGURATIONS = 500
_BY_HAND = "leave it out, or let a person sweep it with workbench sweep"


@dataclass(frozen=True)
class WorkingFolder:
    """The folder that an agent works in, which is the working directory of the process, and the folder of outputs inside it."""

    root: Path
    outputs: Path

    @classmethod
    def of(cls, root: Path, outputs: Path) -> "WorkingFolder":
        """Return the folder `root` with its `outputs`, a path relative to it. Raises InputError if they are not inside."""
        folder = cls(root.resolve(), outputs)
        folder.inside(str(outputs), "--outputs")
        return folder

    def inside(self, path: str, what: str) -> Path:
        """Return a path relative to the folder. Raises InputError if it leads outside after all links."""
        if (fault := self._outside(path)) is not None:
            raise InputError(f"{what} {path!r} {fault}", "give a path inside the working folder")
        return Path(os.path.relpath(os.path.realpath(self.root / expand(path)), self.root))

    def run_or_file(self, path: str, what: str) -> Path:
        """Return a path relative to the folder, whose entries, if it is a folder of tables, lead nowhere else. Raises InputError otherwise."""
        place = self.inside(path, what)
        for entry in sorted(os.listdir(self.root / place)) if (self.root / place).is_dir() else ():
            if (fault := self._outside(str(place / entry))) is not None:
                raise InputError(f"{place / entry} {fault}", "put a copy in its place")
        return place

    def files(self, deepest: int) -> Iterator[Path]:
        """Yield the files at the first levels, without hidden folders, the outputs, and what links lead to."""
        for parent, folders, names in os.walk(self.root):
            place = Path(os.path.relpath(parent, self.root))
            visible = [name for name in sorted(folders) if not name.startswith(".") and place / name != self.outputs]
            folders[:] = visible if len(place.parts) < deepest - 1 else []
            yield from (place / name for name in sorted(names))

    def _outside(self, path: str) -> str | None:
        """Return the fault of a path that leads outside of the folder, None for any other."""
        if "\0" in path:
            return "is no path"
        target = Path(os.path.realpath(self.root / expand(path)))
        if not target.is_relative_to(self.root):
            return "leads outside of the working folder"
        place = target.relative_to(self.root)
        # What reads it expands it again.
        return None if expand(str(place)) == place else "has a $ or a ~ that stands for another place"

    def run(self, name: str) -> "Results":
        """Open a run by its name in the outputs, or by its folder. Raises InputError if it cannot be read or its rules name files outside."""
        from workbench.api.results import Results
        from workbench.report.results.run_tables import run_folder

        if not name.strip():
            raise InputError("the run has no name", "list_runs has the names")
        results = Results.read(self.run_or_file(str(run_folder(Path(name), self.outputs)), "the run"))
        if faults := list(self._faults(results.manifest["experiment"].get("gate", {}), ("gate",))):
            raise ExperimentError(f"the run {results.name}", faults)
        return results

    def experiment(self, given: str | dict[str, Any]) -> "tuple[dict[str, Any], ExperimentSpec]":
        """Read an experiment: the path of a file, the text of one, or its settings. Return the settings and the experiment.

        Raises InputError for a path outside of the folder, and for anything that runs code or programs, unpickles, reads variables of the environment
        into requests, or asks a server beyond this machine.
        """
        from workbench.runner.experiment.file import KEYS
        from workbench.runner.experiment.read import experiment_of
        from workbench.runner.experiment.yaml_file import read_yaml, yaml_mapping

        where, settings = INLINE, given
        if isinstance(settings, str):
            inline = "\n" in settings or settings.lstrip().startswith("{")
            path = Path(INLINE) if inline else self.inside(settings, INLINE)
            where, settings = str(path), yaml_mapping(path, settings, tuple(KEYS)) if inline else read_yaml(path, tuple(KEYS))
        if faults := list(self._faults(settings, ())):
            raise ExperimentError(where, list(dict.fromkeys(faults)))
        spec = experiment_of(settings, where)
        spec = replace(spec, arguments=() if where == INLINE else (where,))
        if len(spec.configurations) > _MOST_CONFIGURATIONS:
            most = f"an agent plans and sweeps at most {_MOST_CONFIGURATIONS}"
            raise InputError(f"{where} has {len(spec.configurations):,} configurations, and {most}", "sweep fewer values")
        if spec.named_code:
            raise InputError(f"{where} runs code: {', '.join(spec.named_code)}", "leave it out; a person can sweep it with --allow-code")
        judges = spec.judging.components if spec.judging else {}
        components = [*judges.values(), *(part for each in spec.configurations for part in each.components.values())]
        if remote := next(_remote_models(components), None):
            raise InputError(f"{where} asks {remote.model} at {remote.address}, a server beyond this machine", _BY_HAND)
        if not getattr(spec.dataset, "path", None):
            raise InputError(f"{where} reads a dataset outside of the working folder", "give dataset.path, a folder inside it")
        self.inside(str(self.outputs / spec.name), "the folder of the run")
        # What a plan or a sweep writes must not follow a link either.
        outputs = self.root / self.outputs
        for link in (link for place in (outputs / spec.name, *outputs.glob(".*")) for link in _links(place)):
            named = link.relative_to(self.root).as_posix()
            if (fault := self._outside(named)) is not None:
                raise InputError(f"{named} {fault}", "remove the link")
        return settings, spec

    def _faults(self, value: Any, keys: Sequence[str]) -> Iterator[str]:
        """Yield the fault of every value below some keys that reaches beyond the folder."""
        if isinstance(value, Mapping | list):
            for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
                yield from self._faults(inner, (*keys, str(key)))
            return
        name = ".".join(keys)
        # A list of values is an axis of a sweep, so the key of a value is the last that is no number.
        key = next((part for part in reversed(name.split(".")) if not part.isdigit()), "")
        if key == "allow_pickle" and value:
            yield f"{name} loads a pickle, which could run code; {_BY_HAND}"
        if not isinstance(value, str) or not value:
            return
        if key == "command":
            yield f"{name} starts the program {value!r}; {_BY_HAND}"
        elif any(part == "env" or part.endswith("_env") for part in keys):
            yield f"{name} hands a variable of the environment to a server; {_BY_HAND}"
        elif "://" in value and not is_local(value):
            yield f"{name} is {value!r}, a server beyond this machine; {_BY_HAND}"
        elif key == "base_url" and (held := sorted(each for each, set_to in os.environ.items() if set_to and each.endswith("_API_KEY"))):
            yield f"{name} is {value!r}, a server that could be handed {', '.join(held)}; {_BY_HAND}, or start workbench mcp without it"
        elif (fault := self._outside(value)) is not None:
            yield f"{name} {value!r} {fault}; give a path inside it"


def _links(place: Path) -> Iterator[Path]:
    """Yield a link, or those in a folder at any depth, which are not followed."""
    if place.is_symlink():
        yield place
    elif place.is_dir():
        # A sweep at the same time removes what it no longer needs.
        with suppress(FileNotFoundError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_symlink() or entry.is_dir():
                    yield from _links(Path(entry.path))


def _remote_models(value: Any) -> "Iterator[ServedModel]":
    """Yield the embedders and rerankers in components that servers beyond this machine compute. A plan does not count what they cost."""
    from workbench.llm.models.server import ServedModel

    if isinstance(value, ServedModel) and not is_local(value.address):
        yield value
    inner: Iterable[Any] = ()
    if isinstance(value, BaseModel):
        inner = [getattr(value, name) for name in type(value).model_fields]
    elif isinstance(value, Mapping | list | tuple):
        inner = value.values() if isinstance(value, Mapping) else value
    for part in inner:
        yield from _remote_models(part)

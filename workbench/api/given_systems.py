"""Read what a person gives as a system: a pipeline, an index, a function, an object, a target, or a path."""

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.api.arguments import require_k
from workbench.api.pipeline import Hits, Index, Pipeline
from workbench.api.results import Results
from workbench.api.scoring.systems import FIRST_K, EnoughHits
from workbench.core.component import Component
from workbench.core.errors import InputError
from workbench.core.imported_functions import imported_object
from workbench.core.records import Dataset, Document
from workbench.core.schemas import pandas_frame
from workbench.measures.metrics.names import MOST_K
from workbench.report.results.run_tables import MANIFEST
from workbench.runner.pipeline.single_question import SingleAnswer
from workbench.systems.base import Target
from workbench.systems.callable.results import CallableInterface
from workbench.systems.callable.target import PythonTarget, Returns, target_of
from workbench.systems.recorded.target import RecordedTarget

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_FORMS = "give a function, an index, a target, a file of recorded results, or a function as package.module:name"

TWO_RUNS = "runs are compared by their configurations: results.compare(a, b, other), b of the other run"


def indexed(system: object, dataset: Dataset | None) -> object:
    """Return the index of a pipeline over the documents of a dataset. Other values are returned unchanged."""
    match system:
        case Pipeline():
            if dataset is None:
                raise InputError("a pipeline indexes the documents of a dataset", "pass dataset=")
            return system.index(dataset)
    return system


def target_for(
    name: str,
    system: object,
    dataset: Dataset | None = None,
    *,
    k: int | None = None,
    depth: EnoughHits | None = None,
    answered: bool = False,
) -> Target:
    """Return a system as a target with a name, without one `system`, or that of a target. Raises InputError for another kind of value.

    A search that takes the number of hits is asked for `k`, or else for more until metrics of this `depth` read no further. A function of the question
    alone returns hits, or if metrics of answers are wanted (`answered`) an answer.
    """
    require_k(k)
    own, name = {"name": name} if name else {}, name or "system"
    settings: dict[str, Any] = {"k": k or (depth.first if depth else FIRST_K), "enough": depth.reached if depth and k is None else None}
    given = _at(system, name) if isinstance(system, str | Path) else system
    match indexed(pandas_frame(given), dataset):
        case RecordedTarget() as recorded if depth and "k" not in recorded.model_fields_set:
            return recorded.model_copy(update={**own, "k": k or _recorded_depth(recorded, depth)})
        case Target() as target:
            return target.model_copy(update=own)
        case pd.DataFrame():
            raise InputError(f"{name} is a DataFrame", "score its rankings with wb.score(dataframe, metrics)")
        case Component() as part:
            raise InputError(f"{name} is a {type(part).__name__}, a part of a system", "put it into a wb.Pipeline")
        case Results() as results:
            raise InputError(f"{name} is the results of the run {results.name}, which cannot be asked", TWO_RUNS)
        case Index() as index:
            answer = {"answer": index.answer} if index.pipeline.answering else {}
            settings |= {} if depth or k else {"k": index.pipeline.retrieval.k}
            return PythonTarget(name=name, search=index.search, **answer, **settings)
    return target_of(name, given, _returns(given, answered) if depth or answered else None, **settings)


def ingesting(system: object, outputs: Path, name: str = "pipeline") -> Target:
    """Return a system as a target that takes documents. A pipeline is indexed again after each change.

    Such a target serves one request at a time, because the first one after a change builds the index.
    """
    match system:
        case Pipeline() as pipeline:
            documents, built = dict[str, Document](), list[Index]()
        case _:
            return target_for("system", system)

    def index() -> Index:
        if not built:
            built.append(pipeline.index(Dataset("documents", tuple(documents.values()), (), ()), outputs))
        return built[0]

    def search(query: str, k: int) -> Hits:
        return index().search(query, k) if documents else Hits()

    def answer(query: str) -> SingleAnswer:
        if not documents:
            raise InputError("there are no documents")
        return index().answer(query)

    def ingest(added: Sequence[Document]) -> None:
        documents.update((document.doc_id, document) for document in added)
        built.clear()

    def remove(doc_ids: Sequence[str]) -> None:
        for doc_id in doc_ids:
            documents.pop(doc_id, None)
        built.clear()

    answers = {"answer": answer} if pipeline.answering else {}
    return PythonTarget(name=name, k=pipeline.retrieval.k, concurrency=1, search=search, ingest=ingest, remove=remove, **answers)


def _returns(system: object, answered: bool) -> Returns | None:
    """Return how a function of the question alone is read, or None for another system."""
    interface = CallableInterface("", system) if inspect.isroutine(system) else None
    if interface is None or interface.takes("context"):
        return None
    return "hits" if interface.takes_number or not answered else "answer"


def _recorded_depth(target: RecordedTarget, depth: EnoughHits) -> int:
    """Return how many hits of each question to read until metrics read no further, as functions are asked for more."""
    found, k = [target.recorded_hits(query) for query in depth.dataset.queries], depth.first
    while k < MOST_K and any(len(hits) > k and not depth.reached(hits[:k]) for hits in found):
        k = min(2 * k, MOST_K)
    return k


def _at(path: str | Path, name: str) -> object:
    """Return the recorded results in a file, or the object that is named as `package.module:name`."""
    text, place = str(path), Path(path).expanduser()
    if re.match(r"https?://", text):
        raise InputError(f"{name} is the address {text}", "make a target of it: wb.HttpTarget(...), or wb.McpTarget(...) for an MCP server")
    if place.is_file():
        return RecordedTarget(name=name, path=place.as_posix())
    if _FUNCTION.fullmatch(text):
        return imported_object(text)
    if place.is_dir():
        raise InputError(
            f"{name}: {text} is a folder, not a file of recorded results", TWO_RUNS if (place / MANIFEST).is_file() else _FORMS
        )
    raise InputError(f"{name}: {text} does not exist", _FORMS)

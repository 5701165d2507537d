"""Metrics as Python expressions: builtin ones such as `recall @ 5`, `span_recall @ tokens(2000)` and `margin`, and functions by `@metric`."""

import inspect
import math
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from workbench.core.errors import InputError
from workbench.core.records import Hit, Query
from workbench.core.text.display import excerpt
from workbench.measures.metrics.case import Case, Cut, MetricValues, Reasons, delivered, slices
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.measures.metrics.definition import ANSWERABLE, MetricDefinition
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS

Function = Callable[..., Any]

_FORM = "write def my_metric(query, hits), or def my_metric(query, answer), and return a number, True, False or None"
_NO_VALUE = "the function returns None"
_HIGHEST = 2**62
# Sums of squares of many stay finite.
_LARGEST = 1e100


@overload
def metric(function: Function, /) -> Metric: ...
@overload
def metric(*, higher_is_better: bool = True, proportion: bool = True) -> Callable[[Function], Metric]: ...
def metric(
    function: Function | None = None, /, *, higher_is_better: bool = True, proportion: bool = True
) -> Metric | Callable[[Function], Metric]:
    """Make a metric of a function, whose name becomes the metric's. It is known in this process, until it ends.

    Parameters
    ----------
    function: `(query, hits)`, with a `wb.Query` and the first k distinct `wb.Hit`s, for the metric `name @ k`; or `(query, answer)`, with the text of
        the answer, for the metric `name`. It returns a number, or None for a question without a value. That question is unscored, as is one on which
        it fails. It is not asked about unanswerable questions.
    higher_is_better: False if the metric counts faults.
    proportion: False if values are not between 0 and 1.

    Raises
    ------
    InputError: the name is that of another metric, the function takes other arguments, or it returns another value, or fails on every question.

    Examples
    --------
    >>> import workbench as wb
    >>> @wb.metric
    ... def from_the_guide(query, hits):
    ...     return any("guide" in hit.doc_id for hit in hits)
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> index = wb.Pipeline(retrieval=wb.BM25Retriever()).index(dataset)
    >>> scores = wb.evaluate(index, dataset, [from_the_guide @ 3, "recall@3"])
    >>> scores.table["metric"].tolist()
    ['from_the_guide@3', 'recall@3']
    """
    if function is None:
        return lambda given: _defined(given, higher_is_better, proportion)
    return _defined(function, higher_is_better, proportion)


def of_function(measure: Metric) -> bool:
    """Check whether a function of this process defines the metric."""
    return measure.name in METRICS.defined


def computed_anew(metrics: Iterable[Metric]) -> None:
    """Let no stored score of these metrics be reused if a function defines them: it can read anything, so nobody knows when its values change."""
    for name in {metric.name for metric in metrics} & METRICS.defined.keys():
        METRICS.defined[name] = replace(METRICS.defined[name], version=_version())


def _version() -> int:
    return 1 + secrets.randbelow(_HIGHEST)


def _defined(function: Function, higher_is_better: bool, proportion: bool) -> Metric:
    name = getattr(function, "__name__", "")
    if not callable(function) or not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"a metric is made of {_described(function)}, which is no function with a name", _FORM)
    if any(test(function) for test in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)):
        raise InputError(f"the metric {name} is a coroutine or a generator", "return its value")
    parameters = [parameter.name for parameter in inspect.signature(function).parameters.values() if parameter.default is parameter.empty]
    if len(parameters) != 2 or parameters[1] not in ("hits", "answer"):
        raise InputError(f"the metric {name} takes ({', '.join(parameters)})", _FORM)
    others = [known for known in METRICS if known not in METRICS.defined]
    if name.casefold() in (known.casefold() for known in others):
        raise InputError(f"there is a metric {name.casefold()} already", "give the function another name")
    asked = _Asked(function, name, proportion)
    _require_no_twin(asked)
    of_hits = parameters[1] == "hits"
    METRICS.defined[name] = MetricDefinition(
        name,
        asked.of_hits if of_hits else asked.of_answers,
        "chunks" if of_hits else "answers",
        "k" if of_hits else "none",
        (ANSWERABLE,),
        (inspect.getdoc(function) or f"the function {name}").partition("\n")[0].rstrip("."),
        source="a function",
        reads=("ranking",) if of_hits else ("answer",),
        higher_is_better=higher_is_better,
        proportion=proportion,
        version=_version(),
    )
    return Metric(name)


def _require_no_twin(asked: "_Asked") -> None:
    """Raise InputError if one definition makes a second metric of the same name, as a function that returns metrics does: a name is one metric."""
    known = getattr(getattr(METRICS.defined.get(asked.name), "compute", None), "__self__", None)
    code = getattr(asked.function, "__code__", None)
    if (
        isinstance(known, _Asked)
        and known.function is not asked.function
        and code is not None
        and code is getattr(known.function, "__code__", None)
    ):
        raise InputError(f"there is a metric {asked.name} already, of the same lines", 'name each: function.__name__ = "another_name"')


def _described(value: object) -> str:
    """Return a value on one line, or its type if it cannot be printed."""
    try:
        return excerpt(" ".join(repr(value).split()), 80)
    except Exception:  # a class of anybody
        return f"a value of type {type(value).__name__}"


@dataclass(frozen=True)
class _Asked:
    """A function that is asked for the value of one question at a time."""

    function: Function
    name: str
    proportion: bool

    def of_hits(self, case: Case, cut: Cut) -> MetricValues:
        """Return the values of the first k distinct hits of each question."""
        dataset = case.labels.dataset
        if dataset is None:
            raise InputError(f"the metric {self.name} is a function, which reads the dataset", "use it in wb.evaluate or wb.compare")
        found, scores = case.shared(delivered, cut), case.shared(_best_scores)
        hits: list[list[Hit]] = [[] for _ in dataset.queries]
        places = case.labels.places(found.starts, found.ends)
        for query, piece, (doc, start, end) in zip(found.query.tolist(), found.piece.tolist(), places, strict=True):
            ranked = hits[query]
            ranked.append(Hit(dataset.documents[doc], start, end, len(ranked) + 1, scores[query, piece]))
        value, unscored = self._values(dataset.queries, hits, case.labels.answerable)
        return MetricValues(value, unscored=unscored)

    def of_answers(self, case: Case, _: Cut) -> MetricValues:
        asked = case.labels.answerable & np.array([not error for error in case.answers.errors], dtype=np.bool_)
        value, unscored = self._values(case.labels.questions, case.answers.texts, asked)
        return MetricValues(value, unscored=unscored)

    def _values(self, queries: Sequence[Query], given: Sequence[object], asked: Bools) -> tuple[Floats, Reasons]:
        """Return the values, NaN for a question without one, and each reason for that with its questions."""
        values = [self._value(query, shown) if ask else math.nan for query, shown, ask in zip(queries, given, asked.tolist(), strict=True)]
        reasons = dict.fromkeys(value for value in values if isinstance(value, str))
        if asked.any() and all(
            isinstance(value, str) and value != _NO_VALUE for value, ask in zip(values, asked.tolist(), strict=True) if ask
        ):
            raise InputError(f"{next(iter(reasons))}, and fails on every question", "mend the function")
        scores = np.array([math.nan if isinstance(value, str) else value for value in values], dtype=np.float64)
        return scores, tuple((reason, np.array([value == reason for value in values], dtype=np.bool_)) for reason in reasons)

    def _value(self, query: Query, given: object) -> float | str:
        """Return the value of a question, or why it has none."""
        where = f"the metric {self.name}, on the question {query.query_id!r},"
        try:
            value = self.function(query, given)
        except (Exception, SystemExit) as error:  # a function of anybody may raise anything
            return f"the metric {self.name} raises {_described(error)}"
        if value is None:
            return _NO_VALUE
        number = (
            float(value)
            if isinstance(value, float | np.number | np.bool_) or (isinstance(value, int) and abs(value) < _LARGEST)
            else math.nan
        )
        if not abs(number) <= _LARGEST:
            raise InputError(f"{where} returns {_described(value)}", f"return a number of at most {_LARGEST:g}, True, False or None")
        if self.proportion and not 0 <= number <= 1:
            raise InputError(f"{where} returns {number:g}, which is not between 0 and 1", "write @wb.metric(proportion=False)")
        return number


def _best_scores(case: Case, _: Cut) -> dict[tuple[int, int], float]:
    """Return the best score of each distinct slice of each question."""
    hits, of_chunk = case.retrieved.hits, case.shared(slices).of_chunk
    pieces = of_chunk[hits["chunk"].to_numpy(np.int64)].tolist()
    best: dict[tuple[int, int], float] = {}
    for query, piece, score in zip(hits["query"].tolist(), pieces, hits["score"].tolist(), strict=True):
        best.setdefault((query, piece), score)
    return best


recall = Metric("recall")
precision = Metric("precision")
success = Metric("success")
mrr = Metric("mrr")
ndcg = Metric("ndcg")
map = Metric("map")  # noqa: A001  # the metric's name
recall_cap = Metric("recall_cap")
judged = Metric("judged")
irrelevant = Metric("irrelevant")
hit_recall = Metric("hit_recall")
hit_precision = Metric("hit_precision")
chunk_precision = Metric("chunk_precision")
span_recall = Metric("span_recall")
span_precision = Metric("span_precision")
span_iou = Metric("span_iou")
need_recall = Metric("need_recall")
complete = Metric("complete")
span_precision_omega = Metric("span_precision_omega")
margin = Metric("margin")
margin_spread = Metric("margin_spread")

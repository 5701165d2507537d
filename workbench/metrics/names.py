"""Names of metrics: `recall@5`, `span_recall@2000t`, `span_precision_omega`, `token_f1`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral

from workbench.core.display import table_html
from workbench.core.formatting import nearest_word
from workbench.errors import InputError
from workbench.metrics.case import Cut
from workbench.metrics.definition import Family, MetricDefinition
from workbench.metrics.registry import METRICS
from workbench.records import MOST_TOKENS, TokenCut

MOST_K = 1000


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: of rankings, cut after `k` documents or chunks or after `tokens` tokens of delivered text, or of answers or judgements.

    Its `family` is `answers` if it reads answers or judgements of them. Metrics of answers have no cut, except those of the first k passages.
    """

    name: str
    k: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.name not in METRICS:
            raise InputError(f"there is no metric {str(self)!r}", _suggestion(self.name, self._cut_text))
        if self.definition.cut == "none":
            if self._cut_text:
                raise InputError(f"the metric {self.name} takes no cut", f"write {self.name}")
            return
        if self.k is None and self.tokens is None:
            raise InputError(f"the metric {self.name} needs a cut", f"write {self.name}@5")
        if self.tokens is not None and (self.definition.cut == "k" or self.k is not None):
            raise InputError(f"the metric {self.name} is not cut at tokens", f"write {self.name}@5")
        for number, most, what in ((self.k, MOST_K, "k"), (self.tokens, MOST_TOKENS, "the number of tokens")):
            if number is not None and not 1 <= number <= most:
                raise InputError(f"{what} of the metric {self} is out of range", f"it goes from 1 to {most:,}")

    @classmethod
    def parse(cls, text: str) -> "Metric":
        """Parse a name such as `recall@5` or `span_recall@2000t`. `str` returns the name."""
        name, at, cut = str(text).partition("@")
        if not at:
            return cls(name)
        if name not in METRICS:
            raise InputError(f"there is no metric {text!r}", _suggestion(name, f"@{cut}"))
        number = re.fullmatch(r"(0|[1-9][0-9]{0,8})(t?)", cut)
        if number is None:
            forms = {"k": f"{name}@5", "k or tokens": f"{name}@5 or {name}@2000t", "none": name}
            raise InputError(f"the metric {text!r} has an invalid cut", f"write {forms[METRICS[name].cut]}")
        return cls(name, tokens=int(number[1])) if number[2] else cls(name, k=int(number[1]))

    def __str__(self) -> str:
        return f"{self.name}{self._cut_text}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return table_html(f"{self}: {self.definition.definition}", [], f"Source: {self.definition.source}")

    def __matmul__(self, cut: object) -> "Metric":
        raise InputError(
            f"the metric {self} takes no {'second ' if self._cut_text else ''}cut",
            f"write {self.name}" if not self._cut_text else f"write {self}",
        )

    @property
    def cut(self) -> Cut:
        """The cut of the results."""
        return Cut(self.k, self.tokens)

    @property
    def definition(self) -> MetricDefinition:
        """The metric's registry entry, shared by all cuts."""
        return METRICS[self.name]

    @property
    def family(self) -> Family:
        """The unit of counting: documents, documents of hits, chunks, spans of characters, answers, or something else."""
        return self.definition.family

    @property
    def of_answers(self) -> bool:
        """True if it reads contexts, answers or judgements of them, not only rankings."""
        return self.definition.of_answers

    @property
    def judged(self) -> bool:
        """True if it reads judgements of answers and contexts."""
        return self.definition.judged

    def require_ranking(self) -> None:
        """Raise InputError unless the ranking is all that it reads."""
        if self.of_answers:
            raise InputError(f"the metric {self} reads answers, not rankings", "use it in an experiment with answering, or leave it out")

    @property
    def higher_is_better(self) -> bool:
        """False if the metric counts faults."""
        return self.definition.higher_is_better

    @property
    def proportion(self) -> bool:
        """True if all values are between 0 and 1."""
        return self.definition.proportion

    @property
    def bounded_by_k(self) -> bool:
        """True if it reads k delivered chunks, so that k must not exceed the `k` of the retrieval."""
        return self.k is not None and self.family in ("hits", "chunks", "spans")

    @property
    def _cut_text(self) -> str:
        if self.tokens is not None:
            return f"@{self.tokens}t"
        return "" if self.k is None else f"@{self.k}"


def metrics_given(given: object) -> list[Metric]:
    """Return one metric or several, given as names or expressions, each once. Raises InputError for anything else, and for none."""
    several = given if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else [given]
    chosen = list(dict.fromkeys(map(_given, several)))
    if not chosen:
        raise InputError("no metric is given", "write metrics=['recall@5', 'mrr@10']")
    return chosen


def _given(value: object) -> Metric:
    if isinstance(value, Metric):
        return value
    if isinstance(value, UncutMetric):
        raise InputError(f"the metric {value.name} needs a cut", f"write {value.name} @ 5, or '{value.name}@5'")
    if isinstance(value, str):
        return Metric.parse(value)
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        raise InputError(f"the function {name} is no metric", "write @wb.metric above it, and name @ 5 for a metric of hits")
    raise InputError(f"a metric is of type {type(value).__name__}", "write names or expressions, such as ['recall@5', wb.mrr @ 10]")


def tokens(count: int) -> TokenCut:
    """Return a cut after `count` tokens of delivered text, in the vocabulary of all-MiniLM-L6-v2 for every embedder.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.span_recall @ wb.tokens(2000)
    span_recall@2000t
    """
    if isinstance(count, bool) or not isinstance(count, Integral):
        raise InputError(f"tokens is {count!r}", "give a whole number, such as tokens(2000)")
    return TokenCut(int(count))


@dataclass(frozen=True, slots=True)
class UncutMetric:
    """A metric that needs a cut: `recall @ 5` is the metric `recall@5`."""

    name: str

    def __matmul__(self, cut: int | TokenCut) -> Metric:
        if isinstance(cut, TokenCut):
            return Metric(self.name, tokens=cut.tokens)
        if isinstance(cut, bool) or not isinstance(cut, Integral):
            raise InputError(f"the cut of {self.name} is {cut!r}", f"write {self.name} @ 5")
        return Metric(self.name, k=int(cut))

    def __repr__(self) -> str:
        return f"{self.name} (needs a cut, such as {self.name} @ 5)"

    def _repr_html_(self) -> str:
        return table_html(f"{self.name}: {METRICS[self.name].definition}", [], f"It needs a cut, such as {self.name} @ 5.")


def _suggestion(name: str, cut: str) -> str:
    plain = name.lower().replace("-", "_").replace(" ", "_")
    elsewhere = (metric for metric, definition in METRICS.builtin.items() if plain in definition.aliases)
    close = next(elsewhere, None) or nearest_word(plain, list(METRICS))
    if close is None:
        return f"the metrics are {', '.join(METRICS)}"
    return f"did you mean {close}{'' if METRICS[close].cut == 'none' else cut or '@5'}?"

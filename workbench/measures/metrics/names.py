"""Metrics by name and cut: `recall@5`, `span_recall@2000t`, `span_precision_omega`, `token_f1`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Self

from workbench.core.errors import InputError
from workbench.core.records import MOST_TOKENS, TokenCut
from workbench.core.text.display import table_html
from workbench.core.text.formatting import nearest_word, plural
from workbench.measures.metrics.case import Cut
from workbench.measures.metrics.definition import Comparison, Family, MetricDefinition, not_computed
from workbench.measures.metrics.registry import METRICS

MOST_K = 1000
# The properties of a definition in the manifest of a run.
_RECORDED = ("family", "higher_is_better", "proportion", "definition", "source", "compares", "labels_read")
# Definitions that begin so need no article.
_WITHOUT_ARTICLE = ("the ", "1 ", "how ", "defined ")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: of rankings, cut after `k` documents or chunks or after `tokens` tokens of delivered text, or of answers or judgements.

    Its `family` is `answers` if it reads answers or judgements of them. Metrics of answers have no cut, except those of the first k passages.
    `recall @ 5` cuts a metric that needs a cut. `recorded` is the definition in the manifest of a run, whose package need not be installed.
    """

    name: str
    k: int | None = None
    tokens: int | None = None
    recorded: MetricDefinition | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.recorded is not None:
            return
        if self.name not in METRICS:
            raise InputError(f"there is no metric {str(self)!r}", _suggestion(self.name, self._cut_text))
        if self.definition.cut == "none":
            if self._cut_text:
                raise InputError(f"the metric {self.name} takes no cut", f"write {self.name}")
            return
        if self.tokens is not None and (self.definition.cut == "k" or self.k is not None):
            raise InputError(f"the metric {self.name} is not cut at tokens", f"write {self.name}@5")
        for number, most, what in ((self.k, MOST_K, "k"), (self.tokens, MOST_TOKENS, "the number of tokens")):
            if number is not None and not 1 <= number <= most:
                raise InputError(f"{what} of the metric {self} is out of range", f"it goes from 1 to {most:,}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a name such as `recall@5` or `span_recall@2000t`. `str` returns the name."""
        name, at, cut = str(text).partition("@")
        if not at:
            metric = cls(name)
            if metric.needs_cut:
                raise InputError(f"the metric {name} needs a cut", f"write {name}@5")
            return metric
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
        return f"{self} (needs a cut, such as {self} @ 5)" if self.needs_cut else str(self)

    def _repr_html_(self) -> str:
        note = f"It needs a cut, such as {self} @ 5." if self.needs_cut else f"Source: {self.definition.source}"
        return table_html(f"{self}: {self.meaning}", [], note)

    def __matmul__(self, cut: int | TokenCut) -> Self:
        if not self.needs_cut:
            raise InputError(f"the metric {self} takes no {'second ' if self._cut_text else ''}cut", f"write {self}")
        if isinstance(cut, TokenCut):
            return replace(self, tokens=cut.tokens)
        if isinstance(cut, bool) or not isinstance(cut, Integral):
            raise InputError(f"the cut of {self} is {cut!r}", f"write {self} @ 5")
        return replace(self, k=int(cut))

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Read a metric from the manifest of a run. Earlier versions did not record `reads`, `compares` and `labels_read`."""
        known = METRICS.builtin.get(record["name"])
        reads = known.reads if known else ("answer",) if record["family"] == "answers" else ("ranking",)
        known = known or MetricDefinition(record["name"], not_computed, reads=reads)
        given = {name: value for name, value in record.items() if name in _RECORDED}
        definition = replace(known, **given | {"reads": tuple(record.get("reads", reads))})
        return cls(record["name"], record["k"], record["tokens"], definition)

    @property
    def record(self) -> dict[str, Any]:
        """The metric in the manifest of a run."""
        about = {name: getattr(self.definition, name) for name in _RECORDED}
        cut = {"k": self.k, "tokens": self.tokens, "bounded_by_k": self.bounded_by_k}
        return {"name": self.name, **cut, **about, "reads": list(self.definition.reads)}

    @property
    def needs_cut(self) -> bool:
        """True if it has no cut yet, and needs one."""
        return not self._cut_text and self.recorded is None and METRICS[self.name].cut != "none"

    @property
    def cut(self) -> Cut:
        """The cut of the results."""
        return Cut(self.k, self.tokens)

    @property
    def definition(self) -> MetricDefinition:
        """The metric's registry entry, shared by all cuts, or its record in a run."""
        return self.recorded or METRICS[self.name]

    @property
    def meaning(self) -> str:
        """The definition in a sentence."""
        return self.definition.definition

    @property
    def words(self) -> str:
        """Its mean in words, which complete the sentence "recall@5 is …"."""
        definition = self.definition
        if definition.words:
            unit = "document" if self.family == "documents" else "passage" if self.of_answers else "chunk"
            first = plural(self.tokens, "token") if self.tokens is not None else plural(self.k or 1, unit)
            return definition.words.format(first=f"the first {first}")
        text = definition.definition.replace("`", "").removesuffix("; lower is better")
        text = re.sub(r"\bfirst k\b", f"first {self.k}", re.sub("^1 if ", "share of questions for which ", text))
        article = "" if text.startswith(_WITHOUT_ARTICLE) else "the "
        best = (
            "1 is the best" if self.proportion and self.higher_is_better else f"{'higher' if self.higher_is_better else 'lower'} is better"
        )
        return f"{article}{text}; {best}"

    @property
    def quantity(self) -> str:
        """The measured quantity, for the title of an axis: `share of the evidence found`, or else its name."""
        return self.definition.quantity or str(self)

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
    def compares(self) -> Comparison:
        """How it compares the answer's content with the expected one, empty if it does not."""
        return self.definition.compares

    @property
    def of_text(self) -> bool:
        """True if it counts pieces of text rather than documents."""
        return self.family in ("spans", "chunks")

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
    if isinstance(value, Metric) and not value.needs_cut:
        return value
    if isinstance(value, Metric):
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


def _suggestion(name: str, cut: str) -> str:
    plain = name.lower().replace("-", "_").replace(" ", "_")
    elsewhere = (metric for metric, definition in METRICS.builtin.items() if plain in definition.aliases)
    close = next(elsewhere, None) or nearest_word(plain, list(METRICS))
    if close is None:
        return f"the metrics are {', '.join(METRICS)}"
    return f"did you mean {close}{'' if METRICS[close].cut == 'none' else cut or '@5'}?"

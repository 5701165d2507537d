"""Questions one by one for any two configurations: values, evidence by rank, answers, and the reason why one is behind."""

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.text.formatting import count, number, p_value, plural, share, signed
from workbench.measures.attribution.causes import CAUSE_NAMES, CAUSE_WORDS
from workbench.measures.metrics.coverage import Floats
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.answer_values import answers_of
from workbench.report.analysis.causes import failed_answers
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.pairwise import OTHER, SAME, Contrast, loss_causes, meanings
from workbench.report.analysis.passages import text_of
from workbench.report.analysis.setting_names import setting_columns, short_name
from workbench.report.analysis.standings import difference
from workbench.report.analysis.values import metadata, per_query, rewrites
from workbench.report.cells import count_cell, digits_for, queries_cell, text, words
from workbench.report.model import Block, Cell, Column, Prose, QuestionDetails, Row, Table, Term, Terms
from workbench.report.results.run_tables import RETRIEVED, RunTables
from workbench.report.sentences import folder_of
from workbench.report.topics.retrieval.evidence_ranks import OF_DOCUMENTS, EvidenceRank, by_query, evidence_ranks, needed_evidence
from workbench.report.topics.topic import Topic

_NOTHING_MISSED = "nothing missed"


def render_leading(values: tuple[Findings, Contrast]) -> list[Block]:
    """Count the questions on which the two differ, by the cause of the other's miss."""
    findings, pair = values
    causes, blocks = causes_table(findings, pair), [Prose(tally(findings, pair))]
    if pair.judged is not None:
        blocks.append(Prose(f"{share(pair.judged[0], 1)} and {share(pair.judged[1], 1)} of their retrieved documents are judged."))
    return [*blocks, causes if causes.rows else Prose("They do equally well on every question.")]


def tally(run: RunTables, pair: Contrast) -> str:
    """State the number of questions on which each of the two is ahead."""
    questions = plural(pair.a.queries + pair.b.queries + pair.ties, "question")
    a, b = (short_name(run, side.winner) for side in (pair.a, pair.b))
    return f"Of {questions}, {a} is ahead on {count(pair.a.queries)} and {b} on {count(pair.b.queries)}; {count(pair.ties)} are equal."


def causes_table(run: RunTables, pair: Contrast) -> Table:
    """Tabulate the questions on which one is ahead by the cause of the other's miss."""
    known = meanings(run)
    columns = [
        words("why the other is behind"),
        *(Column(f"{short_name(run, side.winner)} ahead") for side in (pair.a, pair.b)),
        text("meaning"),
    ]
    rows = []
    for cause in (*CAUSE_NAMES, OTHER):
        won, lost = pair.a.causes.get(cause, ()), pair.b.causes.get(cause, ())
        if won or lost:
            cells = [queries_cell(CAUSE_WORDS.get(cause, _NOTHING_MISSED), [*won, *lost]), count_cell(len(won)), count_cell(len(lost))]
            rows.append(Row([*cells, Cell(known[cause])]))
    return Table("Questions that one is ahead on, by what the other does with the evidence", columns, rows)


def slice_name(label: str) -> str:
    """Describe a slice in words."""
    # A value can contain an ampersand too, and rarely a field with its value.
    parts = [part.partition("=") for part in re.split("&(?=[^&=]+=)", label)]
    return ", ".join(f"{field}: {value}" for field, _, value in parts) if "=" in label else "all questions"


sources = Topic(
    "sources",
    "Where the two differ",
    "",
    lambda findings: (findings, pair) if (pair := decide(findings).contrast) else None,
    render_leading,
    views=("comparison",),
    missing="The run has no second configuration to compare.",
)


# In base64 characters. The whole page has to stay below 2 MB.
MOST = 1_250_000
_STEP = 0.95
# The configurations, the first of the ranking, whose questions are on the page; the most pairs whose difference is.
_MOST_CONFIGURATIONS, _MOST_PAIRS = 50, 300
# The questions of the list without a script, the pieces of evidence or relevant documents of a question, and the characters of an answer.
_LISTED, _MOST_PIECES, _LONGEST_ANSWER = 20, 12, 600
# The pieces whose ranks are listed without a script.
_MOST_PHRASES = 4
# The metadata to show: the fields that define slices.
_PLAIN, _LONG = (str, int, float), 200
Place = tuple[str, int, int]


@dataclass(frozen=True)
class ComparedQuestions:
    """The configurations to choose from, the first of `names` in the order of the ranking, of `finished` ones, and the pair that is shown first."""

    findings: Findings
    names: tuple[str, ...]
    finished: int
    pair: tuple[str, str] | None


def compute(findings: Findings) -> ComparedQuestions | None:
    """Choose the configurations to compare: the one shown with the one that it is compared with. None if all failed."""
    names = [standing.name for standing in findings.standings.finished]
    if not names:
        return None
    decision = decide(findings)
    pair = (
        (decision.shown.name, decision.other.name)
        if decision.shown and decision.other
        else (names[0], names[1])
        if len(names) > 1
        else None
    )
    shown = list(dict.fromkeys([*(pair or ()), *names]))[:_MOST_CONFIGURATIONS]
    return ComparedQuestions(findings, tuple(sorted(shown, key=names.index)), len(names), pair)


def render(values: ComparedQuestions) -> list[Block]:
    """Pack the questions for the script, beside a list that is read without one."""
    details = drill(values.findings, values.names, values.pair, MOST)
    notes = []
    if len(values.names) < values.finished:
        notes.append(f"The first {count(len(values.names))} of {plural(values.finished, 'configuration')} can be chosen here.")
    if details.shown < details.queries:
        notes.append(
            f"{plural(details.queries - details.shown, 'question')} of {count(details.queries)}, those in which the configurations differ least, "
            "are left out, so that the page stays small."
        )
    if details.detailed < details.shown:
        which = f"of the {plural(details.detailed, 'question')} in which they differ most" if details.detailed else "of no question"
        notes.append(f"The page has the chunks {which}; all are in {folder_of(values.findings)}/hits.parquet.")
    return [*([Prose(" ".join(notes))] if notes else []), details]


def drill(findings: Findings, names: Sequence[str], pair: tuple[str, str] | None = None, most: int = MOST) -> QuestionDetails:
    """Pack the questions of some configurations into at most `most` characters.

    If they exceed that, passages are kept of the questions that differ most, and then only these questions.
    """
    source = _Source(findings, names, pair)
    order = np.argsort(-source.differences, kind="stable").tolist()
    shown = detailed = len(order)
    while True:
        chosen = sorted(order[:shown])
        packed_text = packed(source.value(chosen, frozenset(order[:detailed])))
        if len(packed_text) <= most or not shown:
            return QuestionDetails(packed_text, detailed, shown, len(order), static_list(findings, names, pair))
        # Questions share texts, so removing some saves less than their share.
        fewer = min((detailed or shown) - 1, int(_STEP * (detailed or shown) * most / len(packed_text)))
        shown, detailed = (shown, fewer) if detailed else (fewer, 0)


def packed(value: Any) -> str:
    """Encode a value as deflated JSON in base64, for `DecompressionStream("deflate")`."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A document may contain half a surrogate pair, which is not valid UTF-8.
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def static_list(run: RunTables, names: Sequence[str], pair: tuple[str, str] | None, most: int = _LISTED) -> list[Block]:
    """List the questions in which two configurations differ most, or in which the only one misses something, with the ranks of their evidence."""
    sides, better = pair or tuple(names[:1]), 1 if run.primary.higher_is_better else -1
    values, causes = [per_query(run, name, str(run.primary)) for name in sides], [loss_causes(run, name) for name in sides]
    titles, evidence = [short_name(run, name) for name in sides], [EvidencePhrases(run, name) for name in sides]
    gaps = better * (values[0] - values[-1])
    chosen = np.flatnonzero(np.abs(gaps) > SAME) if pair else np.flatnonzero(causes[0] != "")
    # NaN sorts to the end.
    order = chosen[np.argsort(-np.abs(gaps[chosen]) if pair else better * values[0][chosen], kind="stable")].tolist()
    digits, items = digits_for([value for row in values for value in row]), []
    for index in order[:most]:
        query_id, behind = str(run.questions["query_id"].iloc[index]), 1 if pair and gaps[index] > 0 else 0
        parts = [
            f"{title} {number(row[index], digits)}: {phrases.joined(query_id)}."
            for title, row, phrases in zip(titles, values, evidence, strict=True)
        ]
        reason = CAUSE_WORDS.get(causes[behind][index], _NOTHING_MISSED)
        note = f"{query_id} · {f'{titles[behind]} is behind: ' if pair else ''}{reason}"
        items.append(Term(str(run.questions["text"].iloc[index]), " ".join(parts), note))
    which = f"in which {' and '.join(titles)} differ" if pair else f"in which {titles[0]} misses something"
    first = f"The {count(most)} of {count(len(order))} questions" if len(order) > most else plural(len(order), "question")
    caption = f"{first} {which}{' most' if pair and len(order) > most else ''}, by {run.primary}, with the ranks of the evidence"
    return [Prose(f"{caption}{':' if items else '.'}"), *([Terms(items)] if items else [])]


class EvidencePhrases:
    """Words for the ranks of the evidence in the ranking of a configuration."""

    def __init__(self, run: RunTables, configuration: str) -> None:
        self.unit = "document" if run.primary.family in OF_DOCUMENTS else "chunk"
        self._ranks = evidence_ranks(run, configuration)
        listed = run.of("hits", configuration)
        listed = listed.drop_duplicates(["query_id", "doc_id"]) if self.unit == "document" else listed
        self._listed = Counter(listed["query_id"].tolist())

    def of(self, query_id: str) -> list[tuple[str, EvidenceRank]]:
        """Return the phrase and the ranks of each piece of evidence of a question."""
        return [(self._phrase(query_id, rank), rank) for rank in self._ranks.get(query_id, ())]

    def joined(self, query_id: str) -> str:
        """Return the phrases of a question in one text, the first few of many."""
        phrases = [phrase for phrase, _ in self.of(query_id)]
        more = [f"{count(len(phrases) - _MOST_PHRASES)} more"] if len(phrases) > _MOST_PHRASES else []
        return "; ".join([*phrases[:_MOST_PHRASES], *more]) or "–"

    def _phrase(self, query_id: str, found: EvidenceRank) -> str:
        where = f"{'rank' if len(found.ranks) == 1 else 'ranks'} {' + '.join(map(str, found.ranks))}" if found.ranks else ""
        if not found.cause:
            return (f"split over {where}" if len(found.ranks) > 1 else where) or "not known"
        if found.in_part:
            return f"a part at {where}, {'the rest ' if found.cause == 'rank' else ''}{CAUSE_WORDS[found.cause]}"
        if found.cause != "rank":
            return ", ".join(filter(None, [where, CAUSE_WORDS[found.cause]]))
        if found.ranks:
            return f"{where}, cut off"
        listed = self._listed[query_id]
        return f"not among the {plural(listed, self.unit)} retrieved" if listed > 1 else "not retrieved"


class _Source:
    """The questions of some configurations. `values` (configurations, questions) are those of the primary metric, NaN if unscored.

    `differences` (questions) are the largest between two configurations, -1 if none has a value.
    """

    def __init__(self, findings: Findings, names: Sequence[str], pair: tuple[str, str] | None) -> None:
        self.run, self.names, self.pair = findings, names, pair
        run = findings
        self.values: Floats = np.array([per_query(run, name, str(run.primary)) for name in names])
        known = ~np.isnan(self.values)
        spread = np.where(known, self.values, -np.inf).max(axis=0) - np.where(known, self.values, np.inf).min(axis=0)
        self.differences: Floats = np.where(known.any(axis=0), spread, -1.0)
        self._causes = [loss_causes(run, name) for name in names]
        self._needed, self._evidence = needed_evidence(run), [EvidencePhrases(run, name) for name in names]
        self._judgements = by_query(run.table("judgements"), "doc_id", "relevance")
        self._rewrites, self._answers = [rewrites(run, name) for name in names], [_answers(run, name) for name in names]
        self._hits = [by_query(run.of("context", name), "rank", "doc_id", "start", "end", "kept") for name in names]

    def value(self, chosen: Sequence[int], detailed: frozenset[int]) -> dict[str, Any]:
        """Convert the chosen questions to plain values, those that are `detailed` with their passages."""
        passages, states = Passages(self.run), dict[tuple[str, EvidenceRank], int]()
        rows = [self._query(index, passages if index in detailed else None, states) for index in chosen]
        run, primary = self.run, self.run.primary
        header = {
            "metric": str(primary),
            "answers": primary.of_answers,
            "better": 1 if primary.higher_is_better else -1,
            "unit": "document" if primary.family in OF_DOCUMENTS else "piece",
            "digits": digits_for([*self.values.ravel(), *self.differences]),
            "configurations": list(self.names),
            "titles": [self._title(name) for name in self.names],
            "short": [short_name(run, name) for name in self.names],
            "settings": [[column.texts.get(name, "") for name in self.names] for column in setting_columns(run)],
            "limits": [_limit(primary, run.facts[name]) for name in self.names],
            "causes": [*CAUSE_WORDS.values(), _NOTHING_MISSED],
            "nothing": meanings(run)[OTHER],
            "pair": [self.names.index(name) for name in self.pair] if self.pair else [0, 0],
            "differences": self._pair_texts(),
        }
        return header | {
            "documents": passages.texts(),
            "passages": passages.slices,
            "states": [[phrase, _fate(found), *found.ranks] for phrase, found in states],
            "queries": rows,
        }

    def _title(self, name: str) -> str:
        ranked = [standing.name for standing in self.run.standings.ranked]
        return f"{ranked.index(name) + 1}  {short_name(self.run, name)}" if name in ranked else f"△  {short_name(self.run, name)}"

    def _pair_texts(self) -> dict[str, str]:
        """The difference of each pair on all questions, by the places of both. Of many configurations, only those with the pair that is shown first."""
        places = [(a, b) for b in range(len(self.names)) for a in range(b)]
        if len(places) > _MOST_PAIRS:
            places = [pair for pair in places if {self.names[place] for place in pair} & set(self.pair or ())]
        return {f"{a},{b}": pair_text(self.run, self.names[a], self.names[b]) for a, b in places}

    def _query(self, index: int, passages: "Passages | None", states: dict[tuple[str, EvidenceRank], int]) -> dict[str, Any]:
        question = self.run.questions.iloc[index]
        query_id = str(question["query_id"])
        needed = self._needed.get(query_id, ())
        query: dict[str, Any] = {"i": query_id, "t": question["text"]}
        fields = metadata(self.run)[index].items()
        query["s"] = {str(name): str(value) for name, value in fields if isinstance(value, _PLAIN) and len(str(value)) < _LONG}
        query |= {"a": question["answer"]} if question["answer"] else {}
        query |= {} if question["answerable"] else {"u": 1}
        query["v"] = [None if np.isnan(value) else round(float(value), 9) for value in self.values[:, index]]
        query["c"] = [CAUSE_NAMES.index(causes[index]) if causes[index] else -1 for causes in self._causes]
        fates = [evidence.of(query_id) for evidence in self._evidence]
        query["e"] = [[states.setdefault(each, len(states)) for each in own[:_MOST_PIECES]] for own in fates]
        query["d"] = [sum(fate.delivered for _, fate in own) for own in fates]
        query["k"] = len(needed)
        # By configuration what was searched in place of the question.
        query |= {"w": [searched.get(query_id, []) for searched in self._rewrites]} if any(self._rewrites) else {}
        query |= {"y": [own.get(query_id) for own in self._answers]} if any(self._answers) else {}
        if passages is None:
            # A document is named, and the text of evidence is left out with that of the chunks.
            return query | {"n": [piece.doc_id for piece in needed[:_MOST_PIECES]]}
        pieces = needed[:_MOST_PIECES]
        query["n"] = [
            [part for span in piece.alternatives for part in passages.place(*span)] or [passages.document(piece.doc_id)] for piece in pieces
        ]
        query["g"] = [(passages.document(doc_id), int(np.sign(grade))) for doc_id, grade in self._judgements.get(query_id, ()) if grade]
        query["h"] = [passages.hits(hits.get(query_id, ())) for hits in self._hits]
        return query


@dataclass(eq=False)
class Passages:
    """The texts of the drill-down, each stored once, indexed by document and slice numbers."""

    run: RunTables
    slices: list[int] = field(default_factory=list)
    _slices: dict[Place, int] = field(default_factory=dict)
    _documents: dict[str, int] = field(default_factory=dict)
    _spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def document(self, doc_id: str) -> int:
        """Return the number of a document."""
        return self._documents.setdefault(doc_id, len(self._documents))

    def place(self, doc_id: str, start: int, end: int) -> tuple[int, int, int]:
        """Register a span, keep its text, and return its document number, start and end."""
        self._spans.setdefault(doc_id, []).append((start, end))
        return self.document(doc_id), start, end

    def hits(self, rows: Iterable[Sequence[Any]]) -> list[int]:
        """Register slices given as (rank, doc_id, start, end, kept), and return all their numbers, all ranks, and all numbers of delivered characters (-1: all).

        Columns of equal kind compress better than rows.
        """
        found: list[tuple[int, int, int]] = []
        for rank, doc_id, start, end, kept in rows:
            if (doc_id, start, end) not in self._slices:
                self._slices[doc_id, start, end] = len(self._slices)
                self.slices += self.place(doc_id, start, end)
            found.append((self._slices[doc_id, start, end], rank, -1 if kept == end else kept - start))
        return [row[column] for column in range(3) for row in found]

    def texts(self) -> dict[int, tuple[str, list[tuple[int, str]]]]:
        """Map each document's number to its id and the shown stretches of its text as (start, text)."""
        texts = {}
        for doc_id, place in self._documents.items():
            spans = _joined(self._spans.get(doc_id, []))
            texts[place] = (doc_id, [(low, text_of(self.run, doc_id, low, high)) for low, high in spans])
        return texts


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def pair_text(findings: Findings, a: str, b: str) -> str:
    """The mean difference of two configurations with its one interval and p. Empty if no question has a value for both."""
    mean, tested = difference(findings, str(findings.primary), a, b), findings.comparison(a, b)
    if mean is None:
        return ""
    known = tested is not None and not np.isnan(tested.p)
    p = (
        f"{p_value(tested.p_adjusted)} corrected for {plural(tested.tests, 'comparison')}"
        if tested and known
        else "not tested, exploratory"
    )
    return f"{signed(mean.value)} {mean.bounds()}, {p}"


def _answers(run: RunTables, configuration: str) -> dict[str, list[Any]]:
    """Map each question to the first answer to what was retrieved: its text, whether it is a refusal, and the cause of its failure or -1."""
    if "answers" not in run.sources:
        return {}
    causes = {
        query_id: CAUSE_NAMES.index(cause)
        for query_id, cause in _first_retrieved(failed_answers(run, configuration))[["query_id", "cause"]].itertuples(index=False)
    }
    rows = _first_retrieved(answers_of(run, configuration))
    columns = (rows[name].tolist() for name in ("query_id", "answer", "refused", "error", "reason"))
    answers = {}
    for query_id, answer, refused, error, reason in zip(*columns, strict=True):
        said = answer if len(answer) <= _LONGEST_ANSWER else f"{answer[:_LONGEST_ANSWER].rsplit(None, 1)[0]} …"
        answers[query_id] = [f"no answer: {error}" if error else reason or said, int(refused), causes.get(query_id, -1)]
    return answers


def _first_retrieved(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows["condition"] == RETRIEVED) & (rows["variant"] == "") & (rows["repeat"] == 0)]


def _fate(found: EvidenceRank) -> int:
    """0 for evidence that was delivered, 1 in part, 2 if it was missed, 3 if that is not known."""
    return (1 if found.in_part else 2) if found.cause else 0 if found.ranks else 3


def _limit(metric: Metric, facts: Mapping[str, Any]) -> str:
    if metric.bounded_by_k and metric.k:
        return plural(metric.k, "chunk")
    tokens = metric.tokens or facts["token_budget"]
    return plural(tokens, "token") if tokens else plural(facts["k"], "chunk")


drill_section = Topic("queries", "Question by question", "Questions", compute, render)

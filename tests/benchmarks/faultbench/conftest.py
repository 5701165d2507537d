"""The planted cases of the handbook, and an attribution that walks the layers of an observation with sets of characters."""

import pickle
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

from benchmarks.faultbench.bench import planted_cases
from benchmarks.faultbench.cases import Observation, PlantedCase
from tests.shared import built_once
from workbench.components.context.packing import BEYOND_K
from workbench.core.records import Dataset, Document, Need, Query, Span
from workbench.data.sources import GoldenSource
from workbench.measures.attribution.causes import OWN_CAUSES

ROOT = Path(__file__).parents[3]
Characters = set[tuple[str, int]]


@pytest.fixture(scope="session")
def handbook() -> Dataset:
    return GoldenSource(path=str(ROOT / "experiments" / "handbook")).load()


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory, handbook: Dataset) -> tuple[PlantedCase, ...]:
    def plant(folder: Path) -> None:
        (folder / "cases.pickle").write_bytes(pickle.dumps(planted_cases(handbook)))

    return pickle.loads((built_once(tmp_path_factory, "planted", plant) / "cases.pickle").read_bytes())


def characters(spans: Iterable[Span], seen: Observation) -> Characters:
    """Every character of the spans that is in the index and not blank."""
    texts = seen.documents
    return {(span.doc_id, place) for span in spans for place in range(span.start, span.end) if not texts[span.doc_id][place].isspace()}


def unmet(seen: Observation) -> list[Need]:
    """The needs of which the context holds no alternative whole."""
    context = characters(seen.context, seen)

    def met(span: Span) -> bool:
        return span.doc_id in seen.documents and characters([span], seen) <= context

    return [need for need in seen.needs if not any(met(span) for span in need.alternatives)]


def readable(seen: Observation) -> bool:
    """Whether the expected answer is in the delivered part of each unmet need or, if it is long, anywhere in the context."""
    answers = [
        text.rstrip(".") for text in (seen.query.answer, *seen.query.answer_variants) if len(text.split()) > 1 or re.search(r"\d", text)
    ]

    def has(text: str, answer: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) is not None

    def parts(need: Need) -> list[str]:
        pairs = [(one, span) for one in need.alternatives for span in seen.context if one.doc_id == span.doc_id]
        texts = (seen.documents[one.doc_id][max(one.start, span.start) : min(one.end, span.end)] for one, span in pairs)
        return [text for text in texts if text]

    pieces = [seen.documents[span.doc_id][span.start : span.end] for span in seen.context]
    if any(len(answer.split()) >= 4 and has(piece, answer) for answer in answers for piece in pieces):
        return True
    return all(any(has(part, answer) for part in parts(need) for answer in answers) for need in unmet(seen))


def layer(need: Need, seen: Observation) -> str:
    """The first layer at which a need that is not met was lost."""
    indexed = [span for span in need.alternatives if span.doc_id in seen.documents]
    if not indexed:
        return "not_indexed"
    near = [entry for entry in seen.entries if any(entry.chunk.doc_id == span.doc_id for span in indexed)]
    wanted = [characters([span], seen) for span in indexed]

    def holds(doc_id: str, start: int, end: int) -> bool:
        part = characters([Span(doc_id, start, end)], seen)
        return any(one <= part for one in wanted)

    whole = {entry.chunk for entry in near if holds(entry.chunk.doc_id, entry.chunk.start, entry.chunk.end)}
    if not whole:
        return "boundary"
    if not any(holds(entry.chunk.doc_id, entry.chunk.start, entry.searched_end) for entry in near):
        return "window"
    # Chunks that end at one place are copies of one.
    once = {(hit.chunk.doc_id, hit.chunk.end): hit for hit in reversed(seen.hits)}
    best = {hit.chunk for hit in sorted(once.values(), key=lambda hit: hit.rank)[: seen.k]}
    retrieved = {hit.chunk for hit in seen.hits if hit.cut_reason != BEYOND_K}
    if whole & best and not whole & retrieved:
        return "duplicate"
    return "budget" if whole & retrieved else "rank"


def walk(seen: Observation) -> str:
    """The earliest broken layer."""
    verdicts = {claim.verdict for claim in seen.claims}
    if seen.correct and not verdicts & {"contradicted", "absent"}:
        return "none"
    if (missing := unmet(seen)) and not readable(seen):
        return min((layer(need, seen) for need in missing), key=OWN_CAUSES.index)
    if not re.search(r"\w", seen.answer):
        return "empty"
    if not seen.query.answerable:
        return "unrefused"
    if seen.truncated:
        return "truncated"
    if "contradicted" in verdicts:
        return "contradiction"
    if "absent" in verdicts:
        return "unsupported"
    if seen.refused:
        return "refusal"
    if "" in verdicts:
        return "unsure"
    return "unused" if seen.relevant else "off_topic"


@pytest.fixture(scope="session")
def attribution() -> Callable[[Observation], str]:
    return walk


@pytest.fixture(scope="session")
def unmet_needs() -> Callable[[Observation], list[Need]]:
    return unmet


@pytest.fixture(scope="session")
def lost_at() -> Callable[[Need, Observation], str]:
    return layer


@pytest.fixture
def small() -> Dataset:
    """Six short documents, eight questions with an answer, two without."""
    return small_dataset()


@pytest.fixture(scope="session")
def small_cases() -> Callable[[int], tuple[PlantedCase, ...]]:
    """Two cases of every cause from the small dataset, by seed."""
    return cache(lambda seed: planted_cases(small_dataset(), seed, 2))


def small_dataset() -> Dataset:
    facts = {
        "boats": ("How long may a boat lie at the guest pier?", "48 hours", "A visiting boat may lie at the guest pier for 48 hours."),
        "lamps": ("When are the harbour lamps lit in winter?", "16:30", "In winter the harbour lamps along the mole are lit at 16:30."),
        "ice": ("What does a crate of ice cost?", "€7", "A crate of ice from the ice house costs €7 for everyone who lands fish."),
        "crane": ("Who may operate the crane?", "Two trained riggers", "The crane is operated by Two trained riggers, never by one alone."),
        "dogs": ("Are dogs allowed on the ferry deck?", "No", "Dogs are not allowed on the ferry deck, whatever their size may be."),
        "paint": (
            "How many coats of paint does a buoy get?",
            "3 coats",
            "A buoy gets 3 coats of paint before it goes back to sea in April.",
        ),
    }
    padding = (
        "The harbour office opens at {n}:15 and has a bench in the sun for {m} people. "
        "Nobody has measured how many gulls live near shed {m} since the year {y}. "
        "Ropes in the store of section {n} are counted once and then forgotten for {m} weeks. "
    )
    documents, queries, needs = [], [], []
    for number, (doc_id, (question, answer, fact)) in enumerate(facts.items(), 5):
        before = (padding.format(n=number, m=number * 11, y=1900 + number) * 4).strip()
        text = f"{before} {fact} {before}"
        documents.append(Document(doc_id, text))
        queries.append(Query(doc_id, question, True, answer, answer_variants=(f"{answer}, as ever",)))
        needs.append(Need(doc_id, (Span(doc_id, len(before) + 1, len(before) + 1 + len(fact)),)))
    for one, other in (("boats", "crane"), ("lamps", "paint")):
        texts = {query.query_id: query for query in queries}
        both = f"{one}-{other}"
        queries.append(Query(both, f"{texts[one].text} {texts[other].text}", True, f"{texts[one].answer}; {texts[other].answer}"))
        needs += [Need(both, need.alternatives) for need in needs if need.query_id in (one, other)]
    queries += [
        Query("wifi", "What is the password of the harbour wifi?", False),
        Query("golf", "Who repairs golf carts near shed 9?", False),
    ]
    return Dataset("small", tuple(documents), tuple(queries), (), tuple(needs))

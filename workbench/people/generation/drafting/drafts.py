"""Draft questions without a model: from headings and from statements with amounts, conditions and definitions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise, zip_longest
from typing import Self

from workbench.core.fingerprint import fingerprint
from workbench.core.records import Document, Span
from workbench.data.labels import TextSearch
from workbench.people.generation.drafting.english import english_questions, english_topic
from workbench.people.generation.drafting.german import german_questions, german_topic
from workbench.people.generation.drafting.phrasing import Language, Phrasing, content_words, function_words, language_of
from workbench.people.generation.drafting.self_contained import answers, can_be_asked, stands_alone
from workbench.people.generation.drafting.statements import Statement, statements
from workbench.people.generation.drafting.topics import topic_of

# The questions of a language: of a statement by rules, and about a topic where no rule fits.
_LANGUAGES: Mapping[Language, tuple[Callable[[Statement], Iterator[Phrasing]], Callable[[Statement, str], str]]] = {
    "en": (english_questions, english_topic),
    "de": (german_questions, german_topic),
}
# Statements that contain all words of a question may answer it too. With more, the question is ambiguous.
_MOST_FITTING = 3
_SHORTEST, _LONGEST = 15, 170
_FEWEST_WORDS = 2
# Rules whose questions can be about one word, such as a compound.
_SHORT = ("definition", "amount")
# Rules ask about a whole section, of which so many characters are evidence.
_WHOLE = ("heading", "instruction")
_MOST_EVIDENCE = 500
# Questions about topics fill up to this many, since they are the least natural. A claim needs 30, and a person refuses some.
_FILLED = 40
_TOPIC_QUALITY = 0.3
# Statements whose language is looked at.
_SAMPLED = 200
# A question of two words fits many documents.
_UNSPECIFIC = 0.3
# A text in more places answers nothing by itself.
_MOST_PLACES = 20


@dataclass(frozen=True)
class DraftQuestion:
    """A question with the places of its evidence, all of them equal texts. `overlap` is the share of its words that the evidence has too."""

    question: str
    spans: tuple[Span, ...]
    rule: str
    quality: float
    overlap: float
    language: Language
    headings: tuple[str, ...] = ()

    @property
    def query_id(self) -> str:
        """Return an id that is the same in every run."""
        return f"d-{fingerprint(self.question)[:8]}"


@dataclass(frozen=True)
class _DraftCandidate:
    statement: Statement
    phrasing: Phrasing
    language: Language

    @property
    def words(self) -> frozenset[str]:
        return content_words(self.phrasing.question, self.language)


@dataclass
class _Corpus:
    """The statements of the documents, and the statements that contain each content word, by number."""

    found: list[tuple[Statement, Language]] = field(default_factory=list)
    places: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Self:
        """Read the statements of documents."""
        corpus, read = cls(), []
        for document in documents:
            found = list(statements(document))
            read.append((found, language_of(" ".join(statement.plain for statement in found[:_SAMPLED]))))
        inside = {word for found, _ in read for statement in found for word in statement.plain.split()[1:]}
        for found, language in read:
            for statement in found:
                corpus.add(replace(statement, common=_is_common(statement.plain, inside, language)), language)
        return corpus

    def add(self, statement: Statement, language: Language) -> None:
        for word in content_words(statement.plain, language):
            self.places[word].add(len(self.found))
        self.found.append((statement, language))

    def fitting(self, wanted: frozenset[str]) -> int:
        """Count the different statements that contain all of these words."""
        sets = sorted((self.places.get(word, set()) for word in wanted), key=len)
        return len({self.found[place][0].plain for place in set.intersection(*sets)}) if sets else 0


def draft_questions(documents: Sequence[Document], wanted: int, known: Sequence[str] = ()) -> list[DraftQuestion]:
    """Draft questions, spread over the documents and their sections. The same documents give the same questions.

    Parameters
    ----------
    documents
        The documents, in English or German; of documents in other languages, headings are the questions.
    wanted
        How many questions to return at most. Documents without headings and facts give fewer.
    known
        Questions that exist already and are not repeated.
    """
    corpus = _Corpus.of(documents)
    natural = _usable(list(_candidates(corpus)), corpus, known)
    chosen = list(islice(_spread(natural), wanted))
    if len(chosen) < min(wanted, _FILLED):
        taken = {candidate.statement for candidate in chosen}
        topics = [each for each in _usable(list(_topics(corpus)), corpus, known) if each.statement not in taken]
        chosen += islice(_spread(topics), min(wanted, _FILLED) - len(chosen))
    search = TextSearch(documents)
    texts = {document.doc_id: document.text for document in documents}
    following = _followers(corpus)
    drafted = (_drafted(candidate, following, texts, search) for candidate in chosen)
    return [draft for draft in drafted if draft is not None]


def _is_common(plain: str, inside: Collection[str], language: Language) -> bool:
    """Return True if the first word of a sentence is no name, by the words that are `inside` of sentences."""
    first, *others = plain.split()
    if first.lower() in inside or first.lower() in function_words(language):
        return True
    return first not in inside and not (others and (others[0][0].isupper() or others[0][0].isdigit()))


def _candidates(corpus: _Corpus) -> Iterator[_DraftCandidate]:
    for statement, language in corpus.found:
        if language in _LANGUAGES:
            phrasings = (each for each in _LANGUAGES[language][0](statement) if _is_understood(each, statement))
            yield from (_DraftCandidate(statement, phrasing, language) for phrasing in islice(phrasings, 1))


def _is_understood(phrasing: Phrasing, statement: Statement) -> bool:
    """Return True if the question and its evidence need no other sentence. Evidence of a heading is its whole section."""
    alone = answers(statement.plain) if phrasing.rule in _WHOLE else stands_alone(statement.plain)
    return alone and can_be_asked(phrasing.question)


def _topics(corpus: _Corpus) -> Iterator[_DraftCandidate]:
    """Yield a question about the topic of each statement below a heading. In another language it is the heading with the topic."""
    for statement, language in corpus.found:
        if not statement.headings:
            continue
        topic = topic_of(statement, language, lambda word: len(corpus.places.get(word, ())))
        if topic:
            asked = _LANGUAGES[language][1](statement, topic) if language in _LANGUAGES else f"{statement.headings[-1]}: {topic}"
            yield _DraftCandidate(statement, Phrasing(asked, "topic", _TOPIC_QUALITY), language)


def _usable(candidates: Sequence[_DraftCandidate], corpus: _Corpus, known: Sequence[str]) -> list[_DraftCandidate]:
    """Leave out candidates that are too short or ambiguous, and those whose words are the words of another."""
    taken = {content_words(question, "") for question in known}
    fitting = [
        each
        for each in candidates
        if _SHORTEST <= len(each.phrasing.question) <= _LONGEST
        and len(each.words) >= (1 if each.phrasing.rule in _SHORT else _FEWEST_WORDS)
        and (each.phrasing.rule in _WHOLE or corpus.fitting(each.words) <= _MOST_FITTING)
        and content_words(each.phrasing.question, "") not in taken
    ]
    # Equal statements are alternatives of one question; different statements make it ambiguous.
    answers = defaultdict[frozenset[str], dict[str, _DraftCandidate]](dict)
    for each in fitting:
        answers[each.words].setdefault(each.statement.plain, each)
    return [each for same in answers.values() if len(same) == 1 for each in same.values()]


def _spread(candidates: Sequence[_DraftCandidate]) -> Iterator[_DraftCandidate]:
    """Yield candidates of one document after the other, and within a document of one section after the other, the most natural first."""
    by_document: dict[str, list[_DraftCandidate]] = {}
    for candidate in sorted(candidates, key=_order):
        by_document.setdefault(candidate.statement.doc_id, []).append(candidate)
    queues = [_by_section(by_document[doc_id]) for doc_id in sorted(by_document, key=fingerprint)]
    for layer in zip_longest(*queues):
        yield from (candidate for candidate in layer if candidate is not None)


def _order(candidate: _DraftCandidate) -> tuple[float, str]:
    # A hash in place of the position, so that questions are not all about the beginnings of documents.
    specific = len(candidate.words) > _FEWEST_WORDS
    return -candidate.phrasing.quality + (0 if specific else _UNSPECIFIC), fingerprint(candidate.phrasing.question)


def _by_section(candidates: Sequence[_DraftCandidate]) -> list[_DraftCandidate]:
    """Order candidates so that each section has its first turn before another has its second."""
    turns: Counter[tuple[str, ...]] = Counter()
    ordered = []
    for candidate in candidates:
        ordered.append((turns[candidate.statement.headings], candidate))
        turns[candidate.statement.headings] += 1
    return [candidate for _, candidate in sorted(ordered, key=lambda pair: pair[0])]


def _followers(corpus: _Corpus) -> dict[Statement, Statement]:
    """Return the statement after each statement of the same section."""
    found = [statement for statement, _ in corpus.found]
    return {
        before: after
        for before, after in pairwise(found)
        if before.doc_id == after.doc_id and before.headings == after.headings and after.start - before.end < 3
    }


def _drafted(
    candidate: _DraftCandidate, following: Mapping[Statement, Statement], texts: Mapping[str, str], search: TextSearch
) -> DraftQuestion | None:
    """Return the question with its evidence, or None if the text of the evidence is in too many places."""
    statement = candidate.statement
    last = statement
    if candidate.phrasing.rule in _WHOLE:
        while (after := following.get(last)) and after.end - statement.start <= _MOST_EVIDENCE:
            last = after
    # What is before the first statement, such as code or half a sentence with a colon, answers too.
    whole = candidate.phrasing.rule in _WHOLE and last.end - statement.section <= _MOST_EVIDENCE
    span = Span(statement.doc_id, statement.section if whole else statement.start, last.end)
    text = texts[span.doc_id][span.start : span.end]
    places = list(islice(search.verbatim(text), _MOST_PLACES + 1))
    if len(places) > _MOST_PLACES:
        return None
    asked = candidate.words
    overlap = len(asked & content_words(text, candidate.language)) / len(asked)
    question = DraftQuestion(
        candidate.phrasing.question,
        tuple(dict.fromkeys([span, *places])),
        candidate.phrasing.rule,
        candidate.phrasing.quality,
        overlap,
        candidate.language,
    )
    return replace(question, headings=statement.headings)

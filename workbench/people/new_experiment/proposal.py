"""Measure documents, propose chunkings with the measurement that speaks for each, and write them as an experiment file."""

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import yaml

from workbench.components.chunking.markdown import Block, blocks, parts_of
from workbench.core.records import Document
from workbench.core.text.formatting import approximate, count, listed, plural, share
from workbench.core.text.words import words
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import Tokens, tokenise
from workbench.runner.experiment.json_schema import EDITOR_LINE

# The window of all-MiniLM-L6-v2, which reads nothing beyond it.
WINDOW = 256
# Documents that are measured, spread evenly, and blocks of each whose sentences are.
_MEASURED, _BLOCKS = 400, 40
# A document with this many headings has sections.
_HEADINGS = 2
# Characters of a document that are read, and of each part that is read if the document is longer.
_READ, _PART = 300_000, 30_000
Language = Literal["en", "de", ""]
# Frequent words, which most sentences of a language contain.
_FUNCTION_WORDS: Mapping[Language, frozenset[str]] = {
    "en": frozenset(
        """a an the of to in on at for with by from and or but not no is are was were be been has have had do does did it its this
        that these those you your we our they their he she his her i my me as if when which who whom what where how why than
        then there can may must should will would could shall all any each every more most other some such only own so too very
        about after before up down out over under into between also per via""".split()
    ),
    "de": frozenset(
        """der die das den dem des ein eine einer eines einem einen und oder aber nicht kein keine ist sind war waren sein wird
        werden wurde hat haben hatte im in am an auf für mit von vom zu zum zur bei aus nach vor über unter durch als wie wenn
        weil dass es er sie wir ihr ich man sich auch nur noch so sehr was wer wo wann warum welche welcher welches alle jede
        jeder jedes mehr kann können muss müssen darf dürfen soll sollen um bis ab ohne gegen seit""".split()
    ),
}
# The share of function words from which a text is of a language. Tables and lists of names have few.
_CLEAR = 0.15


def language_of(text: str) -> Language:
    """Return the language of a text, English or German, or an empty text if it is probably neither."""
    found = words(text)
    shares = {language: sum(word in known for word in found) / max(1, len(found)) for language, known in _FUNCTION_WORDS.items()}
    best = max(shares, key=lambda language: shares[language])
    return best if shares[best] >= _CLEAR else ""


def parts_read(text: str) -> Iterator[tuple[int, int]]:
    """Yield the slices of a text that are read, between blank lines: of a long text, parts that are spread evenly over it."""
    if len(text) <= _READ:
        yield 0, len(text)
        return
    number = _READ // _PART
    for place in range(number):
        start = place * (len(text) - _PART) // (number - 1)
        start = text.find("\n\n", start, start + _PART) if place else 0
        if start >= 0:
            end = text.rfind("\n\n", start + 2, start + _PART)
            yield start, end if end > start else start + _PART


@dataclass(frozen=True)
class CorpusMeasures:
    """Measurements of documents, in tokens of all-MiniLM-L6-v2. A value of a distribution is its median unless described otherwise.

    `fitting` is the share of all tokens that is in documents of at most a window,
    `headed` is the share of documents with at least two headings, `fixed_blocks` the share of text in tables, code and lists.
    `languages` are the shares of documents by language, with an empty text for other languages.
    """

    documents: int
    tokens: int
    document: float
    longest: float
    fitting: float
    headed: float
    section: float
    fixed_blocks: float
    paragraph: float
    sentence: float
    long_sentence: float
    languages: dict[Language, float]


@dataclass
class _Lengths:
    documents: list[float] = field(default_factory=list)
    sections: list[float] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)
    headed: int = 0
    fixed: int = 0
    measured: int = 0


def measure(documents: Sequence[Document]) -> CorpusMeasures:
    """Measure documents: a sample of many, and parts of long ones. Sizes of the others follow from their characters."""
    sample = [documents[index] for index in np.linspace(0, len(documents) - 1, min(len(documents), _MEASURED)).astype(int)]
    found, languages = _Lengths(), list[Language]()
    characters = sum(_measure(document, found, languages) for document in sample)
    ratio = found.measured / max(1, characters)
    lengths = [len(document.text) * ratio for document in documents]
    return CorpusMeasures(
        documents=len(documents),
        tokens=round(sum(lengths)),
        document=_middle(lengths),
        longest=max(lengths, default=0.0),
        fitting=sum(length for length in lengths if length <= WINDOW) / max(1.0, sum(lengths)),
        headed=found.headed / max(1, len(sample)),
        section=_middle(found.sections),
        fixed_blocks=found.fixed / max(1, found.measured),
        paragraph=_middle(found.paragraphs),
        sentence=_middle(found.sentences),
        long_sentence=float(np.quantile(found.sentences, 0.9)) if found.sentences else 0.0,
        languages={language: languages.count(language) / len(languages) for language in dict.fromkeys(languages)},
    )


def _measure(document: Document, found: _Lengths, languages: list[Language]) -> int:
    """Add the lengths of a document. Returns the characters that were measured."""
    headings = characters = 0
    for start, end in parts_read(document.text):
        text = document.text[start:end]
        tokens = tokenise([text], MINILM)[0]
        found_blocks = blocks(text)
        sizes = _sizes(tokens, found_blocks)
        headings += _sections(found_blocks, sizes, found)
        for block in found_blocks[:_BLOCKS]:
            if block.kind == "text":
                found.sentences += _sizes(tokens, [Block(*part, "text") for part in parts_of(text, block)])
        found.measured += len(tokens.starts)
        characters += len(text)
    found.headed += headings >= _HEADINGS
    languages.append(language_of(document.text[:20_000]))
    return characters


def _sections(found_blocks: Sequence[Block], sizes: Sequence[int], found: _Lengths) -> int:
    """Add the lengths of sections, paragraphs and other blocks. Returns the number of headings."""
    section = headings = 0
    for block, size in zip(found_blocks, sizes, strict=True):
        if block.kind == "heading":
            headings += 1
            if section:
                found.sections.append(section)
            section = 0
        section += size
        if block.kind == "text":
            found.paragraphs.append(size)
        elif block.kind == "lines":
            found.fixed += size
    if section and headings:
        found.sections.append(section)
    return headings


def _sizes(tokens: Tokens, slices: Iterable[Block]) -> list[int]:
    edges = np.array([(block.start, block.end) for block in slices], dtype=np.int64).reshape(-1, 2)
    sizes: list[int] = (tokens.before(edges[:, 1]) - tokens.before(edges[:, 0])).tolist()
    return sizes


def _middle(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else 0.0


_WIDTH = 118
# A difference that a decision usually turns on.
PROPOSED_DIFFERENCE = 0.05
_PLAIN = re.compile("[A-Za-z_./][A-Za-z0-9_./-]*")

_BUDGETS = (2000, 1000, 500)
# From this many tokens on, vectors of MiniLM take more than some minutes for each chunking on two cores.
LARGE = 2_000_000
# Half of the text or of the documents decides.
_MOSTLY = 0.5
# Shares of text in tables, code and lists, and of documents in other languages, from which they count.
_MANY_BLOCKS, _FOREIGN = 0.05, 0.3
_LANGUAGES = {"en": "English", "de": "German", "": "another language"}


@dataclass(frozen=True)
class ProposedSetting:
    """The settings of a component, as in an experiment file, and why they are there."""

    settings: Mapping[str, Any]
    why: str


@dataclass(frozen=True)
class Proposal:
    """An experiment for documents: chunkings, retrievers, embedder and metrics, and what a person should know about the choice."""

    chunkings: tuple[ProposedSetting, ...]
    retrievers: tuple[ProposedSetting, ...]
    embedding: ProposedSetting
    metrics: tuple[str, ...]
    baseline: str
    about: tuple[str, ...]


def propose(measures: CorpusMeasures) -> Proposal:
    """Return four to six configurations that fit the measured documents."""
    chunkings = tuple(_of_short(measures) if measures.fitting >= _MOSTLY else _of_long(measures))
    foreign = {name: part for name, part in measures.languages.items() if name != "en"}
    retrievers: tuple[ProposedSetting, ...] = ()
    if sum(foreign.values()) >= _FOREIGN:
        many = listed([f"{share(part, 1)} {_LANGUAGES[name]}" for name, part in sorted(foreign.items())])
        chunkings = chunkings[:3]
        retrievers = (
            ProposedSetting({"kind": "dense"}, f"all-MiniLM-L6-v2 was trained on English; these documents are {many}"),
            ProposedSetting({"kind": "bm25", "stopwords": "none", "stemmer": "none"}, "words as they are, in any language"),
        )
    first = chunkings[0].settings
    baseline = "-".join(str(first[key]) for key in ("kind", "size", "overlap") if key in first)
    return Proposal(chunkings, retrievers, _embedding(measures), _metrics(measures), baseline, tuple(_about(measures)))


def _of_short(measures: CorpusMeasures) -> Iterator[ProposedSetting]:
    yield ProposedSetting(
        {"kind": "whole"}, f"{share(measures.fitting, 1)} of the text is in documents of at most {WINDOW} tokens: each as one chunk"
    )
    yield ProposedSetting({"kind": "fixed", "size": 128, "overlap": 0}, "cuts only the longer documents")
    yield ProposedSetting(
        {"kind": "fixed", "size": 64, "overlap": 0}, f"about {_times(64, measures.sentence)} of {count(measures.sentence)} tokens (median)"
    )
    yield ProposedSetting({"kind": "sentence", "size": 64}, "the same size, but cuts no sentence")


def _of_long(measures: CorpusMeasures) -> Iterator[ProposedSetting]:
    yield ProposedSetting(
        {"kind": "fixed", "size": WINDOW, "overlap": 0}, f"the plainest: {WINDOW} tokens, all that all-MiniLM-L6-v2 reads"
    )
    yield ProposedSetting(
        {"kind": "fixed", "size": 128, "overlap": 0},
        f"half of that: about {_times(128, measures.sentence, 'sentence')} of {count(measures.sentence)} tokens (median)",
    )
    if measures.headed >= _MOSTLY:
        why = f"{share(measures.headed, 1)} of the documents have headings, with sections of {count(measures.section)} tokens (median)"
        yield ProposedSetting({"kind": "markdown", "size": WINDOW, "enrich": True}, why)
    elif measures.fixed_blocks >= _MANY_BLOCKS:
        why = f"{share(measures.fixed_blocks, 1)} of the text are tables, code and lists, which it does not cut"
        yield ProposedSetting({"kind": "markdown", "size": WINDOW}, why)
    else:
        why = f"few headings, but paragraphs of {count(measures.paragraph)} tokens (median), which it keeps together"
        yield ProposedSetting({"kind": "recursive", "size": WINDOW}, why)
    yield ProposedSetting(
        {"kind": "sentence", "size": WINDOW}, f"one sentence in ten has more than {count(measures.long_sentence)} tokens; none is cut"
    )
    yield ProposedSetting(
        {"kind": "hierarchical", "child": 64, "parent": WINDOW},
        f"finds {_times(64, measures.sentence, 'sentence')}, delivers the {WINDOW} tokens around them",
    )


def _times(size: int, length: float, noun: str = "sentence") -> str:
    return plural(max(1, round(size / length)) if length else 1, noun)


def _embedding(measures: CorpusMeasures) -> ProposedSetting:
    if measures.tokens > LARGE:
        why = f"{approximate(measures.tokens)} tokens: a hundred times as fast as all-MiniLM-L6-v2, but coarser; confirm the decision with sentence-transformers"
        return ProposedSetting({"kind": "static"}, why)
    return ProposedSetting({"kind": "sentence-transformers", "model": "all-MiniLM-L6-v2"}, "reads 256 tokens, runs offline")


def _metrics(measures: CorpusMeasures) -> tuple[str, ...]:
    # A budget that holds most of the corpus finds everything.
    budget = next((budget for budget in _BUDGETS if 10 * budget <= measures.tokens), _BUDGETS[-1])
    spans = (f"span_recall@{budget}t", f"span_precision@{budget}t", "span_recall@5")
    return (*spans, "recall@5", "mrr@10") if measures.documents > 1 else spans


def _about(measures: CorpusMeasures) -> Iterator[str]:
    yield (
        f"{plural(measures.documents, 'document')}, about {approximate(measures.tokens)} tokens; a document has {count(measures.document)} (median) "
        f"to {approximate(measures.longest)} (longest)"
    )
    yield (
        f"{share(measures.headed, 1)} have headings, {share(measures.fixed_blocks, 1)} of the text are tables, code and lists; "
        f"paragraphs have {count(measures.paragraph)} and sentences {count(measures.sentence)} tokens (medians)"
    )


def experiment_text(name: str, path: str, proposal: Proposal, remarks: Iterable[str]) -> str:
    """Return the YAML of an experiment on the golden folder at `path`, with `remarks` on its questions at the top."""
    lines = [
        EDITOR_LINE,
        "# Which chunking finds the right passages in these documents?",
        "#",
        *(f"# {line}" for about in proposal.about for line in _wrapped(f"{about}.")),
        *(f"# {line}" for remark in remarks for line in _wrapped(f"{remark}.")),
        f"name: {_scalar(name)}",
        f"dataset: {{kind: golden, path: {_scalar(path)}}}",
        "pipeline:",
        *_commented(f"  embedding: {_flow(proposal.embedding.settings)}", proposal.embedding.why, "  "),
        "sweep:",
        *_axis("chunking", proposal.chunkings),
        *(_axis("retrieval", proposal.retrievers) if proposal.retrievers else []),
        f"metrics: [{', '.join(proposal.metrics)}]",
        f"primary: {proposal.metrics[0]}  # the evidence that is found within the same amount of text, whatever the chunks' sizes",
        *_commented(
            f"smallest_difference: {PROPOSED_DIFFERENCE}",
            "smaller differences in the primary metric do not matter; the report says how many questions would show one of this size",
            "",
        ),
        *([f"baseline: {_scalar(proposal.baseline)}"] if not proposal.retrievers else []),
    ]
    return "\n".join(lines) + "\n"


def _axis(name: str, settings: Iterable[ProposedSetting]) -> Iterator[str]:
    yield f"  {name}:"
    for setting in settings:
        yield from _commented(f"    - {_flow(setting.settings)}", setting.why, "    ")


def _commented(line: str, why: str, indent: str) -> Iterator[str]:
    """Yield a setting below the reason for it."""
    yield from (f"{indent}# {part}" for part in _wrapped(why))
    yield line


def _flow(settings: Mapping[str, Any]) -> str:
    return f"{{{', '.join(f'{key}: {_scalar(value)}' for key, value in settings.items())}}}"


def _scalar(value: Any) -> str:
    """Return a value as YAML. A text has quotes unless it is a plain name that YAML reads as the same text: not `2024`, `yes` or `.5`."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return str(yaml.safe_dump(value, default_style='"', allow_unicode=True, width=math.inf)).strip()


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), _WIDTH, break_long_words=False, break_on_hyphens=False)

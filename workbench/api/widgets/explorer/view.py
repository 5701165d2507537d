"""The explorer's HTML: one side, and the static table that a saved notebook keeps. Text of documents is escaped by the report's templates."""

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from workbench.api.widgets.explorer.model import EvidencePlace, ExploredQuestion, GoldDocument, Side
from workbench.api.widgets.explorer.model import Row as HitRow
from workbench.api.widgets.notebook_panel import fitted
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import NONE, count, number, plural, signed
from workbench.core.text.printable import printable_line
from workbench.measures.attribution.causes import CAUSE_WORDS
from workbench.report.analysis.marked_answers import ShownAnswer
from workbench.report.analysis.passages import Piece
from workbench.report.cells import text
from workbench.report.model import Block, Cell, Collapsible, Headline, Prose, Row, Table, Term, Terms
from workbench.report.render.notebook import show
from workbench.report.topics.answers.examples import claims_fold, context_fold, outcome_text

_CUT_SHOWN = 30
_MOST_DOCUMENTS = 12
_LIVE_OPEN = 3
_STATIC_RANKS = 10
# Characters of a piece of evidence in a cell.
_QUOTED = 160
_UNSTORED = "The run does not store this text."


def side_html(side: Side, position: str, name: str) -> str:
    """Render one side. `position` is `First` or `Second`, `name` the short name of the configuration."""
    return _spaced(show(*side_blocks(side, position, name))._repr_html_())


def question_html(question: ExploredQuestion) -> str:
    """Render the question with its expected answer."""
    expected = f"expected: {question.expected}" if question.expected else "" if question.answerable else "has no answer in the documents"
    return _spaced(show(Headline(question.text, " · ".join(filter(None, [question.query_id, expected]))))._repr_html_())


def failures_html(failures: Mapping[str, str]) -> str:
    """Render the configurations that failed, which cannot be chosen, each with its error. Empty without any."""
    if not failures:
        return ""
    terms = Terms([Term(printable_line(name), printable_line(error)) for name, error in failures.items()])
    return _spaced(show(Collapsible(f"{plural(len(failures), 'configuration')} failed and cannot be chosen", [terms]))._repr_html_())


def side_blocks(side: Side, position: str, name: str) -> list[Block]:
    """Build the blocks of one side: ranking and answers."""
    aside = printable_line(side.configuration)
    blocks: list[Block] = [Headline(f"{position}: {printable_line(name)}", "" if aside == name else aside)]
    if side.live:
        blocks.append(Prose("Asked now, as the exported retriever would answer. Typed questions have no labels."))
    if side.searched:
        blocks.append(Prose(f"Searched instead: {' | '.join(side.searched)}"))
    return [*blocks, *_ranking(side), *(block for answer in side.answers for block in _answer(answer))]


def both_html(sides: Sequence[Side], names: Sequence[str]) -> str:
    """Render the values of both sides, and where each ranks the labelled evidence and documents. Empty for a typed question."""
    return "" if sides[0].live else _spaced(show(_table("Evidence and documents on each side", names, _found_rows(sides)))._repr_html_())


def static_html(question: ExploredQuestion | None, sides: Sequence[Side], names: Sequence[str]) -> str:
    """Render the question and both sides as a table without controls, which also an untrusted notebook shows.

    Its rows are what `both_html` has, the best chunks and the answers.
    """
    if question is None:
        return show(Prose("No question passes the filters."))._repr_html_()
    rows = _found_rows(sides)
    chunks = [[f"{_place(chunk)} · {_chunk_state(chunk)}" for chunk in side.chunks[:_STATIC_RANKS]] for side in sides]
    answers = [[f"{answer.variant}: {_said(answer)}" for answer in side.answers] for side in sides]
    for name, columns in (("rank", chunks), ("answer", answers)):
        rows += [(f"{name} {place}", cells) for place, cells in enumerate(zip_longest(*columns, fillvalue=NONE), 1)]
    return question_html(question) + show(_table("Both configurations", names, rows))._repr_html_()


def _table(caption: str, names: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> Table:
    columns = [text(""), *(text(f"{position}: {printable_line(name)}") for position, name in zip(("First", "Second"), names, strict=True))]
    return Table(caption, columns, [Row([Cell(name), *map(Cell, cells)]) for name, cells in rows])


def _found_rows(sides: Sequence[Side]) -> list[tuple[str, Sequence[str]]]:
    """Tabulate value, causes, and the state and rank of each labelled piece of evidence or document on each side."""
    rows: list[tuple[str, Sequence[str]]] = []
    if metric := sides[0].metric:
        rows.append((metric, ["no value" if math.isnan(side.value) else number(side.value) for side in sides]))
    if any(side.causes for side in sides):
        rows.append(("why it misses", [", ".join(CAUSE_WORDS.get(cause, cause) for cause in side.causes) or NONE for side in sides]))
    for place, found in enumerate(zip(*(side.evidence for side in sides), strict=True), 1):
        rows.append((f"evidence {place}: {_quote(found[0])}", [f"{each.need.state} · {_ranks(each)}" for each in found]))
    documents = [{document.doc_id: document for document in side.documents} for side in sides]
    rows += [
        (f"document {printable_line(doc_id)}", [_document_line(known[doc_id]) for known in documents])
        for doc_id in [document.doc_id for document in sides[0].documents][:_MOST_DOCUMENTS]
    ]
    if (rest := len(documents[0]) - _MOST_DOCUMENTS) > 0:
        rows.append((plural(rest, "more relevant document"), [NONE] * len(sides)))
    return rows


def _quote(found: EvidencePlace) -> str:
    """Quote a piece of evidence, or name its place if the run does not store its text."""
    need = found.need
    quoted = "".join(piece.text for piece in need.pieces if piece.role in ("delivered", "missed"))
    named = f"“{printable_line(excerpt(quoted, _QUOTED))}”" if quoted else f"{printable_line(need.doc_id)}:{need.start}-{need.end}"
    return f"{named}, or {plural(need.others, 'alternative')}" if need.others else named


def option_line(query_id: str, asked: str, difference: float) -> str:
    """Return a question as a line of a list."""
    return f"{signed(difference):>7}  {printable_line(query_id)}  {printable_line(excerpt(asked, 110))}"


def _ranks(found: EvidencePlace) -> str:
    if not found.rank:
        return "not retrieved"
    if found.rank == found.whole:
        return f"at rank {found.rank}"
    whole = f"all of it at rank {found.whole}" if found.whole else "no retrieved chunk contains all of it"
    return f"a part of it at rank {found.rank}, {whole}"


def _document_line(document: GoldDocument) -> str:
    if not document.rank:
        return "not retrieved"
    state = "delivered" if document.delivered else f"cut: {document.cut_reason}"
    grade = f" · grade {document.relevance}" if document.relevance > 1 else ""
    return f"document {document.place}, first chunk at rank {document.rank} · {state}{grade}"


def _ranking(side: Side) -> list[Block]:
    """List the chunks by rank, open where they contain evidence; those of a typed question, which has none, open from the top."""
    delivered = [chunk for chunk in side.chunks if chunk["delivered"]]
    cut = [chunk for chunk in side.chunks if not chunk["delivered"]]
    blocks: list[Block] = [Prose(f"Delivered, by rank: {plural(len(delivered), 'chunk')}" if delivered else "Nothing was delivered.")]
    blocks += [_chunk(chunk, opened=chunk["evident"] or (side.live and place < _LIVE_OPEN)) for place, chunk in enumerate(delivered)]
    if cut:
        shown = [chunk for place, chunk in enumerate(cut) if place < _CUT_SHOWN or chunk["evident"]]
        rest = [Prose(f"{count(len(cut) - len(shown))} more without evidence")] if len(shown) < len(cut) else []
        reasons = ", ".join(dict.fromkeys(chunk["cut_reason"] for chunk in cut))
        evident = sum(chunk["evident"] for chunk in cut)
        note = f"{reasons}{f'; {evident} with evidence' if evident else ''}"
        chunks = [_chunk(chunk, opened=chunk["evident"]) for chunk in shown]
        blocks.append(Collapsible(f"Cut from the context: {plural(len(cut), 'chunk')}", [*chunks, *rest], note))
    return blocks


def _chunk(chunk: HitRow, *, opened: bool) -> Collapsible:
    term = Term(f"characters {count(chunk['start'])} to {count(chunk['end'])}", "", pieces=chunk["pieces"] or [Piece(_UNSTORED)])
    title = f"{chunk['rank']}. {printable_line(chunk['doc_id'])}"
    return Collapsible(title, [Terms([term], label="evidence")], _chunk_state(chunk), opened=bool(opened))


def _place(chunk: HitRow) -> str:
    return f"{printable_line(chunk['doc_id'])}:{chunk['start']}-{chunk['end']}"


def _chunk_state(chunk: HitRow) -> str:
    grade = "" if not chunk["relevance"] else " · relevant document" if chunk["relevance"] > 0 else " · known to be irrelevant"
    state = (
        f"cut: {chunk['cut_reason']}"
        if not chunk["delivered"]
        else f"delivered up to {chunk['kept']}"
        if chunk["kept"] < chunk["end"]
        else "delivered"
    )
    evidence = " · contains evidence" if chunk["evident"] else ""
    return f"score {number(chunk['score'])} · {state}{grade}{evidence}"


def _answer(answer: ShownAnswer) -> list[Block]:
    cited = f", cites {', '.join(f'[{index + 1}]' for index in answer.citations)}" if answer.citations else ""
    claims = claims_fold(answer, opened=True)
    said = Term(f"{outcome_text(answer)}{cited}", _said(answer))
    context = [context_fold(answer)] if answer.passages else []
    return [Prose(f"Answer: {answer.variant}"), Terms([said]), *([claims] if claims else []), *context]


def _said(answer: ShownAnswer) -> str:
    return f"no answer: {answer.missing}" if answer.missing else answer.text


def _spaced(html: str) -> str:
    return f'<div style="overflow-wrap:anywhere">{fitted(html)}</div>'

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
from workbench.report.analysis.marked_answers import ShownAnswer
from workbench.report.analysis.passages import Piece
from workbench.report.cells import text, words
from workbench.report.model import Block, Cell, Collapsible, Headline, Prose, Row, Table, Term, Terms
from workbench.report.render.notebook import show
from workbench.report.topics.answers.examples import claims_fold, context_fold, outcome_text

_CUT_SHOWN = 30
_MOST_DOCUMENTS = 12
_STATIC_RANKS = 10
_UNSTORED = "The run does not store this text."


def side_html(side: Side, position: str) -> str:
    """Render one side. `position` is `First` or `Second`."""
    return _spaced(show(*side_blocks(side, position))._repr_html_())


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


def side_blocks(side: Side, position: str) -> list[Block]:
    """Build the blocks of one side: value, gold, ranking, answers."""
    blocks: list[Block] = [Headline(f"{position}: {printable_line(side.configuration)}"), Prose(_summary(side))]
    if side.searched:
        blocks.append(Prose(f"Searched instead: {' | '.join(side.searched)}"))
    gold = [
        *(Term(f"evidence {number}: {_evidence_line(each)}", "", pieces=each.need.pieces) for number, each in enumerate(side.evidence, 1)),
        *_documents(side.documents),
    ]
    if gold:
        blocks += [Prose("Where the labelled evidence and documents stand"), Terms(gold, label="delivered")]
    return [*blocks, *_ranking(side), *(block for answer in side.answers for block in _answer(answer))]


def static_html(question: ExploredQuestion | None, sides: Sequence[Side]) -> str:
    """Render the question and both sides as a table without controls, which also an untrusted notebook shows."""
    if question is None:
        return show(Prose("No question passes the filters."))._repr_html_()
    return question_html(question) + show(static_table(sides))._repr_html_()


def static_table(sides: Sequence[Side]) -> Table:
    """Tabulate value, gold, the best chunks and the answers of each side."""
    metric = sides[0].metric
    rows = [Row([Cell(metric), *(Cell(number(side.value)) for side in sides)])] if metric else []
    rows += _static_rows("evidence", [[_evidence_line(each) for each in side.evidence] for side in sides])
    rows += _static_rows("document", [[_document_line(each) for each in side.documents[:_MOST_DOCUMENTS]] for side in sides])
    rows += _static_rows("rank", [[f"{_place(chunk)} · {_chunk_state(chunk)}" for chunk in side.chunks[:_STATIC_RANKS]] for side in sides])
    answers = [[f"{answer.variant}: {_said(answer)}" for answer in side.answers] for side in sides]
    rows += _static_rows("answer", answers)
    return Table("Both configurations", [words(""), *(text(printable_line(side.configuration)) for side in sides)], rows)


def option_line(query_id: str, asked: str, difference: float) -> str:
    """Return a question as a line of a list."""
    return f"{signed(difference):>7}  {printable_line(query_id)}  {printable_line(excerpt(asked, 110))}"


def _static_rows(name: str, columns: Sequence[Sequence[str]]) -> list[Row]:
    rows = enumerate(zip_longest(*columns, fillvalue=NONE), 1)
    return [Row([Cell(f"{name} {place}"), *(Cell(each) for each in row)]) for place, row in rows]


def _summary(side: Side) -> str:
    if side.live:
        return f"Asked now, as the exported retriever would answer: {plural(len(side.chunks), 'passage')}. Typed questions have no labels."
    causes = f" Causes: {', '.join(side.causes)}." if side.causes else ""
    value = "no value" if math.isnan(side.value) else number(side.value)
    return f"{side.metric}: {value}.{causes}"


def _evidence_line(found: EvidencePlace) -> str:
    need = found.need
    others = f", or {plural(need.others, 'alternative')}" if need.others else ""
    return f"{need.state} · {_ranks(found)} · {printable_line(need.doc_id)}:{need.start}-{need.end}{others}"


def _ranks(found: EvidencePlace) -> str:
    if not found.rank:
        return "not retrieved"
    if found.rank == found.whole:
        return f"at rank {found.rank}"
    whole = f"all of it at rank {found.whole}" if found.whole else "no retrieved chunk contains all of it"
    return f"a part of it at rank {found.rank}, {whole}"


def _documents(documents: Sequence[GoldDocument]) -> list[Term]:
    shown = [Term(_document_line(document), "") for document in documents[:_MOST_DOCUMENTS]]
    rest = len(documents) - len(shown)
    return [*shown, Term("", f"{plural(rest, 'more relevant document')}")] if rest else shown


def _document_line(document: GoldDocument) -> str:
    if not document.rank:
        return f"{printable_line(document.doc_id)} · not retrieved"
    state = "delivered" if document.delivered else f"cut: {document.cut_reason}"
    grade = f" · grade {document.relevance}" if document.relevance > 1 else ""
    return f"{printable_line(document.doc_id)} · document {document.place}, first chunk at rank {document.rank} · {state}{grade}"


def _ranking(side: Side) -> list[Block]:
    delivered = [chunk for chunk in side.chunks if chunk["delivered"]]
    cut = [chunk for chunk in side.chunks if not chunk["delivered"]]
    blocks: list[Block] = [Prose(f"Delivered, by rank: {plural(len(delivered), 'chunk')}" if delivered else "Nothing was delivered.")]
    blocks += [Terms([_chunk(chunk) for chunk in delivered], label="evidence")] if delivered else []
    if cut:
        shown = [chunk for place, chunk in enumerate(cut) if place < _CUT_SHOWN or chunk["evident"]]
        rest = [Term("", f"{count(len(cut) - len(shown))} more without evidence")] if len(shown) < len(cut) else []
        reasons = ", ".join(dict.fromkeys(chunk["cut_reason"] for chunk in cut))
        evident = sum(chunk["evident"] for chunk in cut)
        note = f"{reasons}{f'; {evident} with evidence' if evident else ''}"
        blocks.append(
            Collapsible(f"Cut from the context: {plural(len(cut), 'chunk')}", [Terms([*map(_chunk, shown), *rest], label="evidence")], note)
        )
    return blocks


def _chunk(chunk: HitRow) -> Term:
    return Term(f"{chunk['rank']}. {_place(chunk)}", _chunk_state(chunk), pieces=chunk["pieces"] or [Piece(_UNSTORED)])


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

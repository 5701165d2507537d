"""The state that the labeller's view draws, from a session and what the person looks at."""

from dataclasses import dataclass
from typing import Any

from workbench.core.display import excerpt
from workbench.core.formatting import plural
from workbench.labelling.adjudication import NO_EVIDENCE, drafted_by, drafted_part
from workbench.labelling.pooling import merged
from workbench.labelling.session import LabelledEvidence, LabellingSession
from workbench.records import Document

# The longest text that is drawn at once, and the most documents that a search lists.
PART, FOUND = 40_000, 20
_SHOWN_FAULTS = 50


@dataclass
class DocumentView:
    """The documents on display: one in its passages or whole, a part of it, other documents that were opened, and a search."""

    doc_id: str = ""
    whole: bool = False
    part: int = 0
    opened: tuple[str, ...] = ()
    sought: str = ""
    found: tuple[str, ...] = ()


def listed_documents(session: LabellingSession, reading: DocumentView) -> list[str]:
    """Return the ids of the pooled documents, of others that the person labelled for the question, and of those that were opened."""
    query_id = session.query.query_id
    labelled = (action.doc_id for kind in ("relevance", "span") for action in session.labels.of(kind, query_id))
    return list(dict.fromkeys([*(each.doc_id for each in session.documents), *labelled, *reading.opened]))


def view_state(session: LabellingSession, reading: DocumentView, message: str, error: bool) -> dict[str, Any]:
    """Return everything that the view draws."""
    totals = session.totals()
    documents = listed_documents(session, reading)
    return {
        "annotator": session.annotator,
        "file": str(session.file.path),
        "place": session.place,
        "total": len(session.queue),
        "finished": totals.reviewed + totals.finished,
        "progress": f"{totals}; {_here(session)}" if session.queue else "no question",
        "faults": [str(fault) for fault in session.faults[:_SHOWN_FAULTS]],
        "undoable": session.undoable,
        "message": message,
        "error": error,
        "grades": [
            {"grade": grade, "name": session.checker.scale.name(grade), "key": grade_key(grade)} for grade in session.checker.scale.grades
        ],
        "documents": [
            {"doc_id": doc_id, "title": _title(session.checker.documents[doc_id]), "label": _label(session, doc_id)} for doc_id in documents
        ],
        "sought": reading.sought,
        "found": [{"doc_id": doc_id, "title": _title(session.checker.documents[doc_id])} for doc_id in reading.found],
        **_question(session),
        **_text(session, reading),
        **_evidence(session),
    }


def _here(session: LabellingSession) -> str:
    """Say what is done of the question in hand."""
    query_id = session.query.query_id
    done, of = session.judged(query_id)
    judged = f"{done} of {plural(of, 'document')} judged"
    if not session.query.is_draft:
        return f"here {judged}"
    decision = session.labels.decision(query_id)
    word = "to review" if decision is None else "accepted" if decision else "refused"
    return f"this one is {word}, {judged} (optional)"


def grade_key(grade: int) -> str:
    """Return the key of a grade: its digit, or x for a misleading document."""
    return "x" if grade < 0 else str(grade)


def _title(document: Document) -> str:
    return f"{document.doc_id}: {excerpt(document.title)}" if document.title else document.doc_id


def _label(session: LabellingSession, doc_id: str) -> str:
    own, theirs = session.grade(doc_id), session.dataset_grade(doc_id)
    if own is None:
        if theirs is None:
            return ""
        return f"in the dataset: {session.checker.scale.name(theirs)}"
    name = session.checker.scale.name(int(own))
    if theirs is None:
        return name
    return f"{name}, confirmed" if own == theirs else f"{name} (in the dataset: {session.checker.scale.name(theirs)})"


def _question(session: LabellingSession) -> dict[str, Any]:
    query, labels = session.query, session.labels
    answer, answerable = labels.value("answer", query.query_id), labels.value("answerable", query.query_id)
    draft = f"The {drafted_part(query)} is a draft{drafted_by(query)}; {_decided(session)}."
    source = next((action.source for action in labels.of("answer", query.query_id)), "")
    note = "" if answer is None else "your label, accepted from the run" if source else "your label"
    return {
        "query_id": query.query_id,
        "question": session.text,
        "original": query.text if session.text != query.text else "",
        "reason": session.reason,
        "removable": session.removable,
        "synthetic": {"text": draft, "decision": labels.decision(query.query_id)} if query.synthetic else None,
        "open": "not judged" if query.is_draft else "to judge",
        "answerable": query.answerable if answerable is None else bool(answerable),
        "answer": query.answer if answer is None else str(answer),
        "answer_note": note or ("in the dataset" if query.answer else ""),
        "answers": [text for text, _ in session.answers],
    }


def _decided(session: LabellingSession) -> str:
    """Say who has decided on a synthetic question: this person, else a person of the dataset."""
    query, decision = session.query, session.labels.decision(session.query.query_id)
    if decision is None:
        return f"accepted by {query.accepted_by}" if query.accepted_by else "nobody has accepted it"
    return f"you have {('rewritten' if session.text != query.text else 'accepted') if decision else 'refused'} it"


def _text(session: LabellingSession, reading: DocumentView) -> dict[str, Any]:
    document = session.checker.documents.get(reading.doc_id)
    if document is None:
        return {"current": "", "title": "", "whole": False, "has_passages": False, "part": 0, "parts": 1, "pieces": [], "grade": None}
    passages = next((each.passages for each in session.documents if each.doc_id == document.doc_id), ())
    own = [(mark.span.start, mark.span.end) for mark in session.evidence() if mark.span.doc_id == document.doc_id]
    length = len(document.text)
    everything = ((0, length),)
    found = merged([*passages, *own], document) if passages else everything
    # A passage that is cut here can be read to its end in the whole document.
    whole = reading.whole or found == everything
    slices = everything if whole else found
    parts = max(1, -(-length // PART)) if whole else 1
    part = min(reading.part, parts - 1)
    shown = [(part * PART, min(length, (part + 1) * PART))] if whole else [(start, min(end, start + PART)) for start, end in slices[:FOUND]]
    marks = [mark for mark in session.evidence() if mark.span.doc_id == document.doc_id]
    return {
        "current": document.doc_id,
        "title": f"{_title(document)} ({plural(length, 'character')}{'' if whole else ', ' + plural(len(shown), 'passage')})",
        "whole": whole,
        "has_passages": found != everything,
        "part": part,
        "parts": parts,
        # Of this person alone: the same key again removes it, and the first time confirms what the dataset says.
        "grade": session.grade(document.doc_id),
        "pieces": [{"start": start, "text": document.text[start:end], "marks": [_mark(mark) for mark in marks]} for start, end in shown],
    }


def _mark(mark: LabelledEvidence) -> dict[str, Any]:
    return {"start": mark.span.start, "end": mark.span.end, "piece": mark.piece, "own": mark.own}


def _evidence(session: LabellingSession) -> dict[str, Any]:
    marks = session.evidence()
    texts = {
        doc_id: session.checker.documents[doc_id].text for doc_id in {mark.span.doc_id for mark in marks} & session.checker.documents.keys()
    }
    rows = [
        _mark(mark) | {"doc_id": mark.span.doc_id, "text": excerpt(texts[mark.span.doc_id][mark.span.start : mark.span.end], 160)}
        for mark in marks
        if mark.span.doc_id in texts
    ]
    return {"evidence": rows, "numbers": sorted({mark.piece for mark in marks} - {NO_EVIDENCE})}

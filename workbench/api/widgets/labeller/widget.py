"""The labeller as a widget: a thin layer between a session and its view in the browser, and the state that the view draws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import traitlets

from workbench.api.widgets.labelling_panel import FOLDER, LabellingPane, LabellingPanel, joined
from workbench.core.records import Document, Span
from workbench.core.text.display import excerpt, table_html
from workbench.core.text.formatting import plural
from workbench.people.labelling.adjudication import NO_EVIDENCE, drafted_by, drafted_part
from workbench.people.labelling.pooling import merged
from workbench.people.labelling.session import LabelledEvidence, LabellingSession

# The longest text that is drawn at once, and the most documents that a search lists.
PART, FOUND = 40_000, 20
_SHOWN_FAULTS = 50
_PARTS = (
    "labeller_parts",
    "labeller_connection",
    "labeller_drafts",
    "labeller_keyboard",
    "labeller_opening",
    "labeller_adding",
    "labeller",
)
_COLUMNS = ("annotator", "query_id", "kind", "doc_id", "start", "end", "value", "text", "at")
_SHOWN_LABELS = 100


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
    return list(dict.fromkeys([*(document.doc_id for document in session.documents), *labelled, *reading.opened]))


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
    if placeholder := query.is_placeholder and session.text == query.text:
        refused = "" if labels.decision(query.query_id) is None else f"; {_decided(session)}"
        draft = f"A heading is in place of the question. Write the question that the marked passage answers{refused}."
    source = next((action.source for action in labels.of("answer", query.query_id)), "")
    note = "" if answer is None else "your label, accepted from the run" if source else "your label"
    return {
        "query_id": query.query_id,
        "question": session.text,
        "original": query.text if session.text != query.text else "",
        "reason": session.reason,
        "removable": session.removable,
        "synthetic": {"text": draft, "decision": labels.decision(query.query_id), "placeholder": placeholder} if query.synthetic else None,
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
    excerpts = merged([*passages, *own], document) if passages else everything
    # A passage that is cut here can be read to its end in the whole document.
    whole = reading.whole or excerpts == everything
    slices = everything if whole else excerpts
    parts = max(1, -(-length // PART)) if whole else 1
    part = min(reading.part, parts - 1)
    shown = [(part * PART, min(length, (part + 1) * PART))] if whole else [(start, min(end, start + PART)) for start, end in slices[:FOUND]]
    marks = [mark for mark in session.evidence() if mark.span.doc_id == document.doc_id]
    return {
        "current": document.doc_id,
        "title": f"{_title(document)} ({plural(length, 'character')}{'' if whole else ', ' + plural(len(shown), 'passage')})",
        "whole": whole,
        "has_passages": excerpts != everything,
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


class LabellerPane(LabellingPane):
    """The pane of the labeller of a dataset."""

    _esm = joined(*(FOLDER / f"{name}.js" for name in _PARTS))
    # What is typed and not saved, by question and field. The view writes it, and finds it again after a reload.
    drafts = traitlets.Dict().tag(sync=True)


class Labeller(LabellingPanel):
    """The labeller, as `label` returns it. At the end of a notebook's cell it is displayed.

    `labels` is a DataFrame of the labels so far, and `session` does everything without a screen.
    """

    _writing = ("ask", "remove", "judge", "mark", "unmark", "answer", "take", "answerable", "accept", "rewrite", "undo")

    def __init__(self, session: LabellingSession) -> None:
        self.session = session
        self._reading = DocumentView()
        self._open_first()
        skipped = f" {plural(len(session.faults), 'line')} of the file are skipped; see below." if session.faults else ""
        super().__init__(f"Labels are saved at once.{skipped}", bool(session.faults))

    def _new_pane(self) -> LabellerPane:
        return LabellerPane(state=self.state)

    @property
    def labels(self) -> pd.DataFrame:
        """Tabulate the labels of everyone in the file that stand, oldest first."""
        actions = [action for own in self.session.everyone.values() for action in own.actions.values()]
        actions.sort(key=lambda action: action.at)
        rows = [
            (action.by, action.query_id, action.kind, action.doc_id, action.start, action.end, action.value, action.text, action.at)
            for action in actions
        ]
        return pd.DataFrame(rows, columns=list(_COLUMNS))

    def _do(self, content: Mapping[str, Any]) -> str:
        done = self._actions()[content["kind"]](content)
        return self._saved_line() if done is None else done

    def _drawn(self, message: str, error: bool) -> dict[str, Any]:
        return view_state(self.session, self._reading, message, error)

    def _actions(self) -> Mapping[str, Callable[[Mapping[str, Any]], str | None]]:
        session = self.session
        return {
            "ask": self._ask,
            "remove": self._remove,
            "judge": self._judge,
            "mark": self._mark,
            "unmark": lambda said: session.unmark(Span(said["doc_id"], said["start"], said["end"])),
            "answer": lambda said: session.answer(said["text"]),
            "take": lambda said: session.accept_answer(said["number"]),
            "answerable": lambda said: session.set_answerable(None if said["value"] == session.query.answerable else said["value"]),
            "accept": lambda said: session.accept(said["value"]),
            "rewrite": lambda said: session.rewrite(said["text"]),
            "undo": self._undo,
            "previous": lambda _: self._go(lambda: session.go(session.place - 1)),
            "next": lambda _: self._go(lambda: session.go(session.place + 1)),
            "go": lambda said: self._go(lambda: session.go(int(said["place"] or 0))),
            "open": lambda _: self._go(session.go_to_open),
            "show": self._show,
            "whole": self._whole,
            "part": self._part,
            "find": self._find,
        }

    def _saved_line(self) -> str:
        return f"Saved: {plural(len(self.session.labels.actions), 'label')} of {self.session.annotator}."

    def _ask(self, said: Mapping[str, Any]) -> str:
        evidence = said.get("evidence")
        query = self.session.add_question(said["text"], evidence and Span(evidence["doc_id"], evidence["start"], evidence["end"]))
        self._reading = DocumentView()
        self._open_first()
        if evidence:
            self._show(evidence)
        return f"Added as question {query.query_id}. {self._saved_line()}"

    def _remove(self, _: object) -> str:
        query_id = self.session.query.query_id
        self.session.remove_question()
        self._reading = DocumentView()
        self._open_first()
        return f"Removed: question {query_id}. {self._saved_line()}"

    def _judge(self, said: Mapping[str, Any]) -> str:
        doc_id, grade = said["doc_id"], said["grade"]
        self.session.judge(doc_id, grade)
        # A relevant document stays, so that its evidence can be marked.
        if grade is not None and grade <= 0:
            documents = listed_documents(self.session, self._reading)
            after = documents[documents.index(doc_id) + 1 :] if doc_id in documents else []
            self._open(next(iter(after), doc_id))
        return ("Judgement removed. " if grade is None else "") + self._saved_line()

    def _mark(self, said: Mapping[str, Any]) -> str:
        span = self.session.mark(Span(self._reading.doc_id, said["start"], said["end"]), said.get("piece"))
        words = self.session.checker.documents[span.doc_id].text[span.start : span.end]
        return f'Marked "{excerpt(words)}", characters {span.start} to {span.end}. {self._saved_line()}'

    def _undo(self, _: object) -> str:
        before = self.session.query.query_id
        undone = self.session.undo()
        if self.session.query.query_id != before:
            self._reading = DocumentView()
            self._open_first()
        if undone and undone.doc_id:
            self._open(undone.doc_id)
        if undone is None:
            return "There is nothing to undo."
        what = "adding" if undone.kind == "question" else f"{undone.kind} of"
        return f"Undone: {what} question {undone.query_id}. {self._saved_line()}"

    def _go(self, move: Callable[[], None]) -> str:
        self.session.refresh()
        move()
        self._reading = DocumentView()
        self._open_first()
        return ""

    def _show(self, said: Mapping[str, Any]) -> str:
        doc_id = str(said["doc_id"])
        if doc_id in self.session.checker.documents:
            if doc_id not in listed_documents(self.session, self._reading):
                self._reading.opened += (doc_id,)
            self._open(doc_id)
        return ""

    def _whole(self, said: Mapping[str, Any]) -> str:
        self._reading.whole, self._reading.part = bool(said["on"]), 0
        return ""

    def _part(self, said: Mapping[str, Any]) -> str:
        self._reading.part = max(0, int(said["part"]))
        return ""

    def _find(self, said: Mapping[str, Any]) -> str:
        sought = str(said["text"]).strip().casefold()
        documents = self.session.checker.documents.values()
        by_name = (
            [document.doc_id for document in documents if sought in f"{document.doc_id} {document.title}".casefold()] if sought else []
        )
        by_text = (
            [document.doc_id for document in documents if sought in document.text.casefold()] if sought and len(by_name) < FOUND else []
        )
        matching = list(dict.fromkeys([*by_name, *by_text]))
        self._reading.sought, self._reading.found = str(said["text"]), tuple(matching[:FOUND])
        more = f"; the first {FOUND} are shown" if len(matching) > FOUND else ""
        return f"{plural(len(matching), 'document')} found{more}." if sought else ""

    def _open(self, doc_id: str) -> None:
        if doc_id != self._reading.doc_id:
            self._reading.doc_id, self._reading.whole, self._reading.part = doc_id, False, 0

    def _open_first(self) -> None:
        """Open the first document that is not judged yet, or else the first. A draft is reviewed with the first, that of its evidence."""
        session = self.session
        documents = listed_documents(session, self._reading)
        waiting = (doc_id for doc_id in documents if session.grade(doc_id) is None and session.dataset_grade(doc_id) is None)
        first = next(iter(documents), "")
        self._open(first if session.query.is_draft else next(waiting, first))

    def __repr__(self) -> str:
        return f"Labeller({str(self.session.file.path)!r}, {plural(len(self.session.labels.actions), 'label')} of {self.session.annotator})"

    @property
    def static_html(self) -> str:
        """The labels so far as a table, which a saved notebook shows without a kernel."""
        table, session = self.labels, self.session
        finished = f"{session.totals()} by {session.annotator}"
        rows = [
            {str(name): excerpt(str(value)) if value not in (None, "") else "" for name, value in row.items()}
            for row in table.drop(columns=["start", "end"]).tail(_SHOWN_LABELS).to_dict("records")
        ]
        note = f"The last {len(rows)} labels. Run the cell to go on." if len(rows) < len(table) else "Run the cell to go on."
        return table_html(f"{plural(len(table), 'label')} in {session.file.path}, {finished}", rows, note)

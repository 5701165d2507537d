"""A kind of target is a transport: one class for the settings, one for the session, and a line in the registry."""

import asyncio
import inspect
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from pydantic import JsonValue

from workbench.core.records import Answer, Document, Passage, Query, TargetHit
from workbench.llm.session import CallResources
from workbench.runner.experiment.read import read_experiment
from workbench.systems import registry
from workbench.systems.base import System, TargetError, TargetResources
from workbench.systems.operations import (
    AnswerOperation,
    IngestOperation,
    Operation,
    ReadyOperation,
    RemoveOperation,
    SearchOperation,
    Slots,
    TemplateSession,
    TemplateTarget,
    fill,
)
from workbench.testing import check_target


class Message(Operation):
    """An operation as a message, a JSON template."""

    message: dict[str, JsonValue]

    @property
    def template(self) -> JsonValue:
        return self.message


class SearchMessage(SearchOperation, Message):
    pass


class AnswerMessage(AnswerOperation, Message):
    pass


class ReadyMessage(ReadyOperation, Message):
    pass


class IngestMessage(IngestOperation, Message):
    ready: ReadyMessage | None = None


class RemoveMessage(RemoveOperation, Message):
    pass


class MailboxTarget(TemplateTarget):
    """A shelf of documents that takes messages."""

    kind: Literal["mailbox"] = "mailbox"
    search: SearchMessage
    answer: AnswerMessage | None = None
    ingest: IngestMessage | None = None
    remove: RemoveMessage | None = None

    @property
    def operations(self) -> Mapping[str, Operation]:
        ready = self.ingest.ready if self.ingest else None
        return {message.role: message for message in (self.search, self.answer, self.ingest, ready, self.remove) if message}

    @asynccontextmanager
    async def session(self, resources: TargetResources) -> AsyncIterator[System]:
        yield MailboxSession(self.operations, self.k)


class MailboxSession(TemplateSession):
    """A transport: one message, one reply."""

    shelf: ClassVar[dict[str, str]] = {}
    sent: ClassVar[list[Any]] = []

    async def call(self, role: str, values: Slots) -> Any:
        operation = self.operations[role]
        return operation.read(self.reply(role, fill(operation.template, values)))

    def reply(self, role: str, message: Any) -> JsonValue:
        self.sent.append((role, message))
        match role:
            case "ingest":
                self.shelf.update({document["id"]: document["text"] for document in message["documents"]})
            case "remove":
                self.shelf.pop(message["id"], None)
            case "ingest.ready":
                return {"waiting": max(0, 3 - len(self.sent))}
            case "answer":
                return {"said": "; ".join(message.get("from", self.shelf.values())), "sources": [{"id": doc_id} for doc_id in self.shelf]}
        return {"found": [{"id": doc_id, "text": text} for doc_id, text in self.shelf.items()]}


SETTINGS: dict[str, Any] = {
    "name": "mail",
    "search": {"message": {"find": "{query}", "top": "{k}"}, "reply": {"hits": "$.found", "id": "id", "text": "text"}},
    "answer": {
        "message": {"ask": "{query}", "from": "{context}"},
        "reply": {"text": "$.said", "sources": {"hits": "$.sources", "id": "id"}},
    },
    "ingest": {
        "message": {"documents": "{documents}"},
        "document": {"id": "{doc_id}", "text": "{text}"},
        "batch": 2,
        "ready": {"message": {}, "path": "$.waiting", "equals": 0},
    },
    "remove": {"message": {"id": "{doc_id}"}},
}
DOCUMENTS = [Document(name, f"the text of {name}") for name in ("a", "b", "c")]
QUESTION = Query("q1", "which text?")


@pytest.fixture(autouse=True)
def empty() -> None:
    MailboxSession.shelf.clear()
    MailboxSession.sent.clear()


def test_it_is_small() -> None:
    classes = [each for each in vars(sys.modules[__name__]).values() if inspect.isclass(each) and each.__module__ == __name__]
    assert sum(len(inspect.getsource(each).splitlines()) for each in classes) < 100


def test_operations_have_roles_batches_and_contexts() -> None:
    target = MailboxTarget(**SETTINGS)
    assert set(target.roles) == {"search", "answer", "context", "ingest", "ingest.ready", "remove"}

    async def run() -> tuple[Any, ...]:
        async with target.session(TargetResources(CallResources())) as session:
            await session.ingest(DOCUMENTS)
            await session.remove(["b"])
            return (
                await session.search(QUESTION, 1),
                await session.answer(QUESTION),
                await session.answer(QUESTION, [Passage("z", 0, 4, "what")]),
            )

    hits, answer, given = asyncio.run(run())
    assert hits == [TargetHit("a", "the text of a")]
    assert answer == Answer("the text of a; the text of c", sources=(TargetHit("a"), TargetHit("c")))
    assert given.text == "what"
    # Two requests of documents, then the third says that they can be found.
    assert [role for role, _ in MailboxSession.sent[:4]] == ["ingest", "ingest", "ingest.ready", "remove"]
    assert ("search", {"find": "which text?", "top": 1}) in MailboxSession.sent


def test_an_operation_that_is_not_set_is_refused() -> None:
    async def run() -> None:
        async with MailboxTarget(name="mail", search=SETTINGS["search"]).session(TargetResources(CallResources())) as session:
            await session.ingest(DOCUMENTS)

    with pytest.raises(TargetError, match="the target takes no documents"):
        asyncio.run(run())


def test_it_keeps_the_laws_of_targets() -> None:
    MailboxSession.shelf["a"] = "the text of a"
    check_target(MailboxTarget(**SETTINGS))


def test_a_line_of_the_registry_makes_it_a_kind_of_experiments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(registry._BUILTIN, "mailbox", MailboxTarget)
    file = tmp_path / "mail.yaml"
    file.write_text(
        "name: mail\ndataset: {kind: golden, path: experiments/handbook, split: dev}\nmetrics: [recall@5]\n"
        f"targets: [{json.dumps({'kind': 'mailbox', **SETTINGS})}]\n"
    )
    ((target,),) = [configuration.targets for configuration in read_experiment(file).configurations]
    assert target == MailboxTarget(**SETTINGS)

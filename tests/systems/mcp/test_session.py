"""Questions and documents for real servers, over stdio and HTTP."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.systems.mcp.conftest import NOTES, during, notes, strange
from workbench.core.records import Document, Query, TargetHit
from workbench.systems.base import System, TargetDownError, TargetError

CATS, DOGS = Document("cats", "Cats purr when content.", title="Cats"), Document("dogs", "Dogs bark at strangers.", title="Dogs")
QUERY = Query("q1", "why do cats purr at dogs")


def ask(text: str, k: int = 10) -> Callable[[System], object]:
    return lambda session: session.search(Query("q", text), k)


async def life_of_a_note(session: System) -> list[list[tuple[str | None, str | None]]]:
    seen = []

    async def look(k: int = 10) -> None:
        hits = await session.search(QUERY, k)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        seen.append([(hit.doc_id, hit.text) for hit in hits])

    await session.ingest([CATS, DOGS])
    await look()
    await look(k=1)
    await session.ingest([Document("cats", "Cats sleep.", title="Cats")])
    await look()
    await session.remove(["cats"])
    await look()
    await session.remove(["cats", "dogs"])
    await look()
    return seen


@pytest.mark.parametrize(("transport", "mode"), [("stdio", "auto"), ("http", "auto"), ("http", "legacy")])
def test_a_document_is_found_replaced_and_deleted(transport: str, mode: str, notes_url: str) -> None:
    target = notes(mode=mode, url=notes_url) if transport == "http" else notes(mode=mode)
    assert during(target, life_of_a_note) == [
        [("cats", "Cats purr when content."), ("dogs", "Dogs bark at strangers.")],
        [("cats", "Cats purr when content.")],
        [("dogs", "Dogs bark at strangers."), ("cats", "Cats sleep.")],
        [("dogs", "Dogs bark at strangers.")],
        [],
    ]


def test_notes_in_a_file_outlive_the_process(tmp_path: Path) -> None:
    target = notes(args=[str(NOTES), "--data", str(tmp_path / "notes.json")])
    during(target, lambda session: session.ingest([CATS, DOGS]))
    assert [hit.doc_id for hit in during(target, lambda session: session.search(QUERY, 5))] == ["cats", "dogs"]


def test_many_documents_go_in_one_call_and_are_waited_for(notes_url: str) -> None:
    ready = {"tool": "semantic_search", "arguments": {"query": "bark"}, "path": "$.total_found", "equals": 1}
    one_title = {"tool": "update_note", "arguments": {"note_id": "all", "title": "{titles}", "content": "{texts}", "create": True}}
    whole = {**one_title, "arguments": {**one_title["arguments"], "title": "of {titles}", "content": "{{texts}} {texts}"}, "ready": ready}
    (hit,) = during(notes(url=notes_url, ingest=whole), lambda session: _ingested(session, "bark"))
    assert hit.text == "{texts} Cats purr when content.\n\nDogs bark at strangers."
    never = {**whole, "ready": {**ready, "equals": 7, "seconds": 0.5}}
    with pytest.raises(TargetError, match=r"cannot be found after 0\.5 seconds: \$\.total_found of 'semantic_search' is not 7"):
        during(notes(url=notes_url, ingest=never), lambda session: _ingested(session, "bark"))


async def _ingested(session: System, text: str) -> list[TargetHit]:
    await session.ingest([CATS, DOGS])
    return list(await session.search(Query("q", text), 5))


def test_a_tool_that_is_not_set_is_an_error_of_the_request(notes_url: str) -> None:
    async def everything(session: System) -> list[str]:
        requests = (session.answer(QUERY), session.ingest([CATS]), session.remove(["cats"]))
        outcomes = await asyncio.gather(*requests, return_exceptions=True)
        assert all(isinstance(outcome, TargetError) for outcome in outcomes)
        return [str(outcome) for outcome in outcomes]

    expected = ["the target does not answer", "the target takes no documents", "the target deletes no documents"]
    assert during(notes(url=notes_url, answer=None, ingest=None, remove=None), everything) == expected


def test_a_hit_can_come_from_json_in_a_text_and_an_answer_from_a_plain_text(strange_url: str) -> None:
    columns = {"columns": True, "id": "$.ids[0]", "text": "$.documents[0]", "score": "$.distances[0]"}
    search = {"tool": "find_as_text", "arguments": {"query": "{query}"}, "reply": columns}
    answer = {"tool": "answer_as_text", "arguments": {"query": "{query}"}, "reply": {"text": "$"}}

    async def both(session: System) -> None:
        hits = await session.search(Query("q", "x"), 1)
        assert [(hit.doc_id, hit.text, hit.score) for hit in hits] == [("b", "bees", 0.1)]
        assert (await session.answer(Query("q", "life"))).text == "The answer to life is 42."

    during(strange(url=strange_url, search=search, answer=answer), both)


PARTS = {"tool": "parts", "arguments": {"query": "{query}"}}


def test_each_text_of_a_search_without_structured_content_is_a_hit(strange_url: str) -> None:
    async def found(session: System) -> list[object]:
        return [outcome_of(await session.search(Query("q", text), 5)) for text in replies]

    def outcome_of(hits: Sequence[TargetHit]) -> list[str | None]:
        return [hit.doc_id or hit.text for hit in hits]

    one, two = '{"id": "a"}', '{"id": "b"}'
    replies = {"": [], one: ["a"], f"{one}|{two}": ["a", "b"], f"[{one}]": ["a"], "[]": [], "null": [], f"@{one}": ["a"], "none": []}
    reply = {"hits": "$", "id": "id", "empty": [{"path": "$", "equals": "none"}]}
    assert during(strange(url=strange_url, search={**PARTS, "reply": reply}), found) == list(replies.values())
    replies = {'{"r": [{"id": "a"}]}': ["a"], '{"r": []}': [], "{}": [], "": []}
    assert during(strange(url=strange_url, search={**PARTS, "reply": {"hits": "$.r", "id": "id"}}), found) == list(replies.values())
    replies = {"1995|cats": ["1995", "cats"], "1995": ["1995"], "link": ["note://cats"]}
    reply = {"hits": "$", "id": ["$.uri", "$"]}
    assert during(strange(url=strange_url, search={**PARTS, "reply": reply}), found) == list(replies.values())


def test_a_search_whose_reply_has_another_form_is_a_failure(strange_url: str, wording: Callable[..., None]) -> None:
    target = strange(url=strange_url, search={**PARTS, "reply": {"hits": "$", "id": "id"}})
    replies = ["No hits.", '{"name": "a"}', "image|binary", '{"id": "a"}|image']
    wording(lambda text: during(target, ask(text)), {text: text for text in replies}, TargetError)


@pytest.mark.parametrize(
    ("parts", "text", "unread"),
    [
        ("1995", "1995", ()),
        ("true", "true", ()),
        ("null", "null", ()),
        ('"thirty"', '"thirty"', ()),
        ("3|4", "3\n4", ()),
        ("read 1 file|@thirty days", "read 1 file\nthirty days", ()),
        ("@thirty", "thirty", ()),
        ("thirty|image|image|binary|link", "thirty", ("image", "image", "binary resource", "resource link")),
    ],
)
def test_texts_and_resources_are_an_answer_and_other_parts_are_named(
    strange_url: str, parts: str, text: str, unread: tuple[str, ...]
) -> None:
    target = strange(url=strange_url, answer={**PARTS, "reply": {"text": "$"}})
    answer = during(target, lambda session: session.answer(Query("q", parts)))
    assert (answer.text, answer.unread) == (text, unread)


def test_an_answer_in_the_only_json_object_is_found_beside_other_texts(strange_url: str) -> None:
    target = strange(url=strange_url, answer={**PARTS, "reply": {"text": "$.a"}})
    assert during(target, lambda session: session.answer(Query("q", 'done|{"a": "thirty"}|@a file'))).text == "thirty"
    with pytest.raises(TargetError, match="the reply has no text, only 2 × image and 1 × resource link"):
        during(target, lambda session: session.answer(Query("q", "image|image|link")))


def test_noise_on_stdout_an_error_and_a_hang_leave_the_session_usable(capfd: pytest.CaptureFixture[str]) -> None:
    async def work(session: System) -> None:
        with pytest.raises(TargetError, match=r"^the tool 'find' failed: \w.*"):
            await session.search(Query("q", "raise"), 5)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.search(Query("q", "hang"), 5), 1)
        assert [hit.doc_id for hit in await session.search(Query("q", "anything"), 5)] == ["a", "b"]

    during(strange(), work)
    assert capfd.readouterr() == ("", "")


def test_a_process_that_is_started_again_gets_its_documents_again(tmp_path: Path) -> None:
    async def work(session: System) -> list[str | None]:
        await session.ingest([CATS, DOGS])
        return [hit.doc_id for hit in await session.search(Query("q", f"die once {tmp_path / 'mark'}"), 5)]

    target = strange(ingest={"tool": "add", "arguments": {"name": "{doc_id}"}})
    assert during(target, work) == ["a", "b", "cats", "dogs"]
    assert (tmp_path / "mark").exists()


@pytest.mark.slow
def test_a_question_that_always_kills_the_process_fails_and_the_others_are_served() -> None:
    async def work(session: System) -> list[str]:
        with pytest.raises(TargetError, match="the connection was lost during this request, 2 times") as raised:
            await session.search(Query("q1", "die"), 5)
        assert not isinstance(raised.value, TargetDownError)
        return [str(hit.doc_id) for hit in await session.search(Query("q2", "live"), 5)]

    assert during(strange(), work) == ["a", "b"]


def test_a_process_that_ends_again_and_again_is_given_up() -> None:
    async def work(session: System) -> None:
        with pytest.raises(TargetDownError, match="'strange': the connection was lost 1 time in a row"):
            await session.search(Query("q", "die"), 5)
        with pytest.raises(TargetDownError):
            await session.search(Query("q", "live"), 5)

    during(strange(restarts=0), work)


def test_a_misspelt_collection_finds_nothing(strange_url: str) -> None:
    search = {"tool": "find", "arguments": {"query": "{query}", "collection": "ntoes"}, "reply": {"hits": "$.result", "id": "id"}}
    assert during(strange(url=strange_url, search=search), ask("x")) == []


@pytest.mark.usefixtures("secret")
def test_the_process_gets_named_variables_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMED", "1")
    names = {hit.doc_id for hit in during(strange(tool="environment", env=["NAMED"]), ask("x", 1000))}
    assert {"NAMED", "PATH", "HOME"} <= names
    assert names <= {"NAMED", "PATH", "HOME", "LOGNAME", "SHELL", "TERM", "USER", "LC_CTYPE"}


def test_an_answer_marked_as_degraded_is_an_error(notes_url: str) -> None:
    async def work(session: System) -> None:
        await session.ingest([CATS])
        with pytest.raises(TargetError, match=r"degraded: \$\.search_method is the text 'semantic_sampling_unsupported'"):
            await session.answer(QUERY)

    during(notes(url=notes_url), work)

"""An example of a system under test: an MCP server that keeps notes, searches them, and answers with the model of its client.

    python experiments/targets/notes_server.py                    # on stdin and stdout
    python experiments/targets/notes_server.py --port 8000        # at http://127.0.0.1:8000/mcp

It needs only the package `mcp` and knows nothing of Workbench. `--data FILE` keeps the notes in a file; without it they are gone at the end.
The search is BM25 over words, whatever its name says.
"""

import argparse
import json
import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer, Resolve, Sample
from mcp.types import CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel

_K1, _B = 1.2, 0.75
_WORD = re.compile(r"\w+")
_INSTRUCTIONS = (
    "Answer the question from the notes alone, in a sentence or two. If they do not contain the answer, say that the notes do not say."
)


class Note(BaseModel):
    """A text with a title."""

    note_id: str
    title: str
    content: str


class Result(BaseModel):
    """A note that was found."""

    note_id: str
    title: str
    content: str
    score: float


class Results(BaseModel):
    """What a search returns, best first."""

    results: list[Result]
    query: str
    total_found: int


class Answer(BaseModel):
    """An answer and the notes that it was written from."""

    query: str
    generated_answer: str
    sources: list[Result]
    search_method: str


class Saved(BaseModel):
    """What happened to a note."""

    note_id: str
    status: str


class NoteStore:
    """Notes by their ids, in memory and in a file if there is one."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.notes: dict[str, Note] = {}
        self._words: dict[str, Counter[str]] = {}
        # The ids of the notes that have a word, and the number of words of all notes.
        self._having: dict[str, set[str]] = defaultdict(set)
        self._total = 0
        if path and path.exists():
            for fields in json.loads(path.read_text("utf-8")):
                self.put(Note(**fields), write=False)

    def put(self, note: Note, write: bool = True) -> None:
        """Keep a note in place of one with the same id."""
        self._forget(note.note_id)
        words = Counter(_words(f"{note.title} {note.content}"))
        self.notes[note.note_id], self._words[note.note_id] = note, words
        self._total += words.total()
        for word in words:
            self._having[word].add(note.note_id)
        if write:
            self._write()

    def delete(self, note_id: str) -> None:
        """Forget a note."""
        self._forget(note_id)
        self._write()

    def _forget(self, note_id: str) -> None:
        words = self._words.pop(note_id, Counter())
        self.notes.pop(note_id, None)
        self._total -= words.total()
        for word in words:
            self._having[word].discard(note_id)

    def search(self, query: str, limit: int) -> list[Result]:
        """Return the notes with the highest BM25 scores that have a word of the query."""
        scores: dict[str, float] = defaultdict(float)
        for word in sorted(set(_words(query))):
            having = self._having.get(word, set())
            weight = math.log(1 + (len(self.notes) - len(having) + 0.5) / (len(having) + 0.5))
            for note_id in having:
                scores[note_id] += weight * self._saturated(word, self._words[note_id])
        best = sorted(scores, key=lambda note_id: (-scores[note_id], note_id))[:limit]
        return [Result(**self.notes[note_id].model_dump(), score=round(scores[note_id], 6)) for note_id in best]

    def _saturated(self, word: str, words: Counter[str]) -> float:
        length = words.total() * len(self.notes) / self._total
        return words[word] * (_K1 + 1) / (words[word] + _K1 * (1 - _B + _B * length))

    def _write(self) -> None:
        if self._path:
            self._path.write_text(json.dumps([note.model_dump() for note in self.notes.values()]), "utf-8")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


server = MCPServer("notes")
store = NoteStore()


@server.tool()
def create_note(title: str, content: str, note_id: str = "") -> Saved:
    """Create a note. Without an id it gets the next number."""
    number = note_id or str(1 + max((int(known) for known in store.notes if known.isdecimal()), default=0))
    if number in store.notes:
        raise ValueError(f"there is a note {number!r} already")
    store.put(Note(note_id=number, title=title, content=content))
    return Saved(note_id=number, status="created")


@server.tool()
def update_note(note_id: str, title: str, content: str, create: bool = False) -> Saved:
    """Replace the title and the content of a note, or create it if `create` is set and there is none."""
    known = note_id in store.notes
    if not (known or create):
        raise ValueError(f"there is no note {note_id!r}")
    store.put(Note(note_id=note_id, title=title, content=content))
    return Saved(note_id=note_id, status="updated" if known else "created")


@server.tool()
def delete_note(note_id: str) -> Saved:
    """Delete a note."""
    if note_id not in store.notes:
        return Saved(note_id=note_id, status="absent")
    store.delete(note_id)
    return Saved(note_id=note_id, status="deleted")


@server.tool()
def semantic_search(query: str, limit: int = 10) -> Results:
    """Return the notes that fit a query best."""
    results = store.search(query, limit)
    return Results(results=results, query=query, total_found=len(results))


def ask_client(query: str, context: Context, limit: int = 5) -> Sample | CreateMessageResult | None:
    """Return the request to the client's model, or None for a client without one."""
    if not (context.client_capabilities and context.client_capabilities.sampling):
        return None
    results = store.search(query, limit)
    if not results:
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="The notes do not say."), model="none")
    notes = "\n\n".join(f"[{result.note_id}] {result.title}\n{result.content}" for result in results)
    message = SamplingMessage(role="user", content=TextContent(type="text", text=f"Notes:\n\n{notes}\n\nQuestion: {query}"))
    return Sample([message], system_prompt=_INSTRUCTIONS, max_tokens=300, temperature=0.0)


@server.tool()
def semantic_search_answer(query: str, written: Annotated[CreateMessageResult | None, Resolve(ask_client)], limit: int = 5) -> Answer:
    """Answer a question from the notes that fit best, with the model of the client (sampling).

    Without such a model `search_method` is `semantic_sampling_unsupported`, and the answer is only a remark.
    """
    sources = store.search(query, limit)
    if written is None or not isinstance(written.content, TextContent):
        remark = f"Found {len(sources)} notes, but the client cannot write an answer."
        return Answer(query=query, generated_answer=remark, sources=sources, search_method="semantic_sampling_unsupported")
    return Answer(query=query, generated_answer=written.content.text, sources=sources, search_method="semantic_sampling")


def main() -> None:
    """Serve the notes on stdin and stdout, or at a port."""
    global store
    parser = argparse.ArgumentParser(description="An MCP server that keeps notes.")
    parser.add_argument("--port", type=int, help="serve http://127.0.0.1:PORT/mcp instead of stdin and stdout")
    parser.add_argument("--data", type=Path, help="the file to keep the notes in")
    arguments = parser.parse_args()
    store = NoteStore(arguments.data)
    if arguments.port:
        server.run("streamable-http", port=arguments.port)
    else:
        server.run("stdio")


if __name__ == "__main__":
    main()

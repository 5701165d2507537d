"""Each law of chunkers is broken by a chunker made for it."""

from collections.abc import Callable
from typing import ClassVar, Literal

import pytest

from tests.testing.breaking import assert_all_are_broken, assert_broken
from workbench.components.chunking.base import Chunker, CuttingChunker
from workbench.components.chunking.plain import FixedChunker
from workbench.components.chunking.recursive import HierarchicalChunker
from workbench.core.errors import InputError, LawError, RunError
from workbench.core.records import Chunk
from workbench.testing import CHUNKER_LAWS, check_chunker


class Lines(CuttingChunker):
    """A good chunker: windows of `width` characters."""

    kind: Literal["lines"] = "lines"
    width: int = 50
    rule: str = "plain"

    def cuts(self, document, headers):
        n = len(document.text)
        return [(start, min(start + self.width, n), None) for start in range(0, n, self.width)]


def after(change: Callable[[list[Chunk]], list[Chunk]], **fields: object) -> type[Chunker]:
    """A chunker that changes the chunks of a good one by a function."""

    class Changed(Lines):
        def split(self, document):
            return change(super().split(document))

    return type("Changed", (Changed,), fields)


def moved(chunk: Chunk, **fields: object) -> Chunk:
    values = {name: getattr(chunk, name) for name in ("document", "start", "end", "header", "parent")}
    return Chunk(**values | fields)


class Blanks(Lines):
    def split(self, document):
        return [Chunk(document, 0, len(document.text), document.title)] if document.text else []


class Remembering(Lines):
    seen: ClassVar[set] = set()

    def split(self, document):
        again = document.doc_id in self.seen
        self.seen.add(document.doc_id)
        return super().split(document)[1 if again else 0 :]


class TooLong(FixedChunker):
    @property
    def sizes(self):
        return self.size // 2, self.overlap


class Sloppy(FixedChunker):
    @property
    def sizes(self):
        return self.size, 0


class Forgetful(Lines):
    def identity(self):
        return {name: value for name, value in super().identity().items() if name != "width"}


class Unversioned(Lines):
    def identity(self):
        return super().identity() | {"version": 1}


class Changing(Lines):
    calls: ClassVar[list] = []

    def identity(self):
        self.calls.append(1)
        return super().identity() | {"calls": len(self.calls)}


class Unreadable(Lines):
    def model_dump_json(self, **_):
        return '{"width": 51}'


class Lenient(Lines):
    model_config: ClassVar = {"extra": "ignore", "frozen": True}


BREAKERS = {
    "chunks_are_slices_of_their_document": after(lambda chunks: [moved(one, end=one.end + 1) for one in chunks])(),
    "no_chunk_is_blank": Blanks(),
    "chunks_are_ordered_by_start": after(lambda chunks: chunks[::-1])(),
    "chunks_are_distinct": after(lambda chunks: sorted(chunks * 2, key=lambda one: one.start))(),
    "every_character_is_in_a_chunk": after(lambda chunks: [one for one in chunks if one.start != 50])(),
    "the_same_document_has_the_same_chunks": Remembering(),
    "a_parent_contains_its_chunk": after(lambda chunks: [moved(one, parent=(one.start, one.end - 1)) for one in chunks])(),
    "a_title_is_the_header_of_the_first_chunk": after(lambda chunks: [moved(one, header="") for one in chunks])(),
    "no_input_is_longer_than_size": TooLong(size=64),
    "chunks_overlap_only_with_an_overlap": Sloppy(size=64, overlap=16),
    "a_long_text_is_split_to_its_end": after(lambda chunks: chunks[:200])(),
    "settings_survive_json": Unreadable(),
    "unknown_settings_are_refused": Lenient(),
    "equal_settings_have_equal_identities": Changing(),
    "the_version_is_part_of_the_identity": Unversioned(),
    "every_setting_is_part_of_the_identity": Forgetful(),
}


def test_every_law_has_a_chunker_that_breaks_it() -> None:
    assert_all_are_broken(CHUNKER_LAWS, BREAKERS)


@pytest.mark.parametrize("name", BREAKERS)
def test_a_broken_law_is_found_and_named(name: str) -> None:
    assert_broken(CHUNKER_LAWS, name, BREAKERS[name], check_chunker)


@pytest.mark.parametrize("chunker", [Lines(), Lines(width=7, enrich=True), FixedChunker(size=64), HierarchicalChunker(child=32, parent=96)])
def test_a_good_chunker_passes(chunker: Chunker) -> None:
    assert check_chunker(chunker) is None


def test_the_message_says_law_statement_input_and_result() -> None:
    name = "every_character_is_in_a_chunk"
    message = assert_broken(CHUNKER_LAWS, name, BREAKERS[name], check_chunker)
    assert message.startswith("Changed(kind='lines', ")
    assert "(Every character that is not blank is in a chunk, unless the class sets `covers = False`)" in message
    assert "on the document 'prose' ('Boats wait for the tide." in message
    assert "characters are in no chunk, the first is 'W' at 51" in message


def test_what_the_chunker_raises_is_named_with_its_input() -> None:
    def fail(chunks):
        return [chunks[1]]

    with pytest.raises(LawError, match=r"on the document 'one character' \('x'\), it raised IndexError: list index") as broken:
        check_chunker(after(fail)())
    assert isinstance(broken.value.__cause__, IndexError)


def test_an_error_of_workbench_is_left_as_it_is() -> None:
    def refuse(_):
        raise RunError("the splitter's server does not answer", "start it")

    with pytest.raises(RunError, match="start it"):
        check_chunker(after(refuse)())


def test_a_class_or_another_component_is_refused() -> None:
    with pytest.raises(InputError, match=r"expected an instance of workbench.components.chunking.base.Chunker, not the class Lines"):
        check_chunker(Lines)
    with pytest.raises(InputError, match="not a str"):
        check_chunker("lines")


def test_text_that_a_chunker_may_leave_out_is_not_missed() -> None:
    leaving_out = after(lambda chunks: [one for one in chunks if one.start != 50], covers=False)
    check_chunker(leaving_out())

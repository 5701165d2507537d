import pytest

from workbench.components.chunking.recursive import HierarchicalChunker, RecursiveChunker
from workbench.core.errors import InputError
from workbench.core.records import Document

TEXT = "\n\n".join(f"Paragraph {i} has some words. It has a second sentence, too." for i in range(12))


def test_parents_are_recursive_chunks_and_children_recursive_chunks_inside_them() -> None:
    document = Document("d", TEXT)
    chunks = HierarchicalChunker(child=30, parent=150, tokens="characters").split(document)
    parents = [(chunk.start, chunk.end) for chunk in RecursiveChunker(size=150, tokens="characters").split(document)]
    assert list(dict.fromkeys(chunk.parent for chunk in chunks)) == parents
    for start, end in parents:
        inside = Document("d", TEXT[start:end])
        children = RecursiveChunker(size=30, tokens="characters").split(inside)
        assert [(c.start + start, c.end + start) for c in children] == [(c.start, c.end) for c in chunks if c.parent == (start, end)]


def test_a_parent_is_no_embedder_input() -> None:
    text = "word " * 60
    assert {chunk.parent for chunk in HierarchicalChunker(child=20, parent=61).split(Document("d", text, "Title"))} == {(0, 299)}


def test_a_child_as_large_as_its_parent_is_refused() -> None:
    with pytest.raises(InputError, match="child 64 is not smaller than parent 64; lower child"):
        HierarchicalChunker(child=64, parent=64)


def test_its_name_is_child_then_parent() -> None:
    chunker = HierarchicalChunker(child=128, parent=512)
    assert (chunker.name, chunker.sizes) == ("hierarchical-128-512", (128, 0))

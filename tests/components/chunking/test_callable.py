import itertools
import re
import sys
from pathlib import Path

import pytest

from workbench.components.chunking.foreign import CallableChunker
from workbench.core.errors import InputError, RunError
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Document

MODULE = """
def paragraphs(text):
    return text.split("\\n\\n")

def pairs(text, step=5):
    return [(start, min(start + step, len(text))) for start in range(0, len(text), step)]

def upper(text):
    return [text.upper()]

def broken(text):
    raise KeyError("no such page")

def exiting(text):
    raise SystemExit(3)

constant = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the working directory, as a person has it beside an experiment."""
    monkeypatch.chdir(tmp_path)
    name = f"cutting_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_a_naive_function_gives_exact_slices_of_covid_qa(module: str, corpus) -> None:
    chunker = CallableChunker(callable=f"{module}:paragraphs")
    for document in corpus("covid-qa"):
        chunks = chunker.split(document)
        read = [document.text[chunk.start : chunk.end] for chunk in chunks]
        assert read == [part for part in document.text.split("\n\n") if part.strip()]
        gaps = [document.text[one.end : other.start] for one, other in itertools.pairwise(chunks)]
        assert not "".join(gaps).strip()


def test_equal_paragraphs_have_their_own_places(module: str) -> None:
    chunks = CallableChunker(callable=f"{module}:paragraphs").split(Document("d", "\n\n".join(["Same."] * 40)))
    assert [chunk.start for chunk in chunks] == list(range(0, 40 * 7, 7))


def test_a_function_may_give_places_and_take_arguments(module: str) -> None:
    chunker = CallableChunker(callable=f"{module}:pairs", arguments={"step": 3})
    assert [chunk.chunk_id for chunk in chunker.split(Document("d", "abcdefgh"))] == ["d:0-3", "d:3-6", "d:6-8"]
    assert chunker.name == f"callable-{module}.pairs"


def test_an_error_of_a_function_is_reported_in_one_line(module: str) -> None:
    with pytest.raises(InputError, match="upper' on document 'd': the chunk 'ABC' is not a slice of the text but a rewriting"):
        CallableChunker(callable=f"{module}:upper").split(Document("d", "abc"))
    with pytest.raises(RunError, match=r"broken' on document 'd' failed \(KeyError: 'no such page'\)"):
        CallableChunker(callable=f"{module}:broken").split(Document("d", "abc"))
    with pytest.raises(RunError, match=r"exiting' on document 'd' failed \(SystemExit: 3\)"):
        CallableChunker(callable=f"{module}:exiting").split(Document("d", "abc"))


def test_a_module_that_exits_when_it_is_imported_is_reported_in_one_line(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text("import sys\nsys.exit('no licence')\n")
    with pytest.raises(InputError, match=r"cannot be imported \(SystemExit: no licence\)"):
        CallableChunker(callable=f"{module}:paragraphs").load_code()


def test_a_missing_function_is_an_error_when_its_code_is_loaded(module: str, wording) -> None:
    def load(attribute: str) -> None:
        chunker = CallableChunker(callable=f"{module}{attribute}")
        with pytest.raises(InputError) as caught:
            chunker.split(Document("d", "abc"))
        with pytest.raises(InputError, match=re.escape(str(caught.value))):
            chunker.load_code()
        raise caught.value

    wording(load, [":paragraph", ":constant", "_absent:cut", ""])


def test_arguments_that_the_function_does_not_take_are_an_error_when_its_code_is_loaded(module: str) -> None:
    with pytest.raises(InputError, match=r"pairs\(text, step=5\) cannot take a text and these arguments .*'stop'"):
        CallableChunker(callable=f"{module}:pairs", arguments={"stop": 3}).load_code()


def test_making_a_chunker_imports_nothing(module: str) -> None:
    chunker = CallableChunker(callable=f"{module}:paragraphs")
    assert chunker.named_code == (f"{module}:paragraphs",)
    assert module not in sys.modules
    chunker.load_code()
    assert module in sys.modules


def test_a_change_of_the_source_is_another_identity(module: str, tmp_path: Path) -> None:
    chunker = CallableChunker(callable=f"{module}:paragraphs")
    before = fingerprint(chunker.identity())
    assert fingerprint(chunker.identity()) == before
    (tmp_path / f"{module}.py").write_text(MODULE.replace("step=5", "step=6"))
    del sys.modules[module]
    assert fingerprint(chunker.identity()) != before


def test_a_function_without_source_is_known_by_its_version() -> None:
    assert CallableChunker(callable="builtins:str.splitlines").identity()["code"][0].startswith("Python 3.")

"""The tokens of all-MiniLM-L6-v2 without `tokenizers` are those of `tokenizers`."""

import random
import sys
import unicodedata
from pathlib import Path

import pytest
from tokenizers import Encoding

from workbench.core.fingerprint import file_digest
from workbench.llm.models import wordpiece
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import model_tokenizer, tokenizer_file

ROOT = Path(__file__).parents[3]


def expected(text: str) -> list[tuple[int, int, int]]:
    return slices(model_tokenizer(MINILM).encode(text, add_special_tokens=False))


def slices(encoding: Encoding) -> list[tuple[int, int, int]]:
    return [(start, end, word) for (start, end), word in zip(encoding.offsets, encoding.word_ids, strict=True)]


def test_tokens_of_pages_and_odd_texts_are_equal() -> None:
    pages = [path.read_text("utf-8") for path in sorted((ROOT / "experiments" / "handbook" / "documents").rglob("*.md"))[:12]]
    odd = ["", " ", "x[SEP]y [CLS", "a" * 101, "Ünïcödé İ ﬁ", "e\u0301 \u00ad x\u200by", "中文 한국어 かな", "≠ \u037e 🥰", "don't—stop…"]
    generator = random.Random(7)
    letters = [chr(code) for code in (*range(0x500), *range(0x2000, 0x2100), *range(0x3041, 0x3100), *range(0xAC00, 0xAC40))]
    drawn = ["".join(generator.choices([*letters, *"abc e.-[SEP]" * 40], k=30)) for _ in range(300)]
    for text in [*pages, *odd, *drawn]:
        assert wordpiece.encode(text) == expected(text), text[:100]


def test_the_vocabulary_is_that_of_the_model() -> None:
    assert wordpiece.tokenizer_digest() == file_digest(tokenizer_file(MINILM))


@pytest.mark.slow
def test_every_character_of_unicode_gives_equal_tokens() -> None:
    known = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    for place in range(0, len(known), 4_096):
        texts = [f"ab{character}cd {character}" for character in known[place : place + 4_096]]
        for text, encoding in zip(texts, model_tokenizer(MINILM).encode_batch(texts, add_special_tokens=False), strict=True):
            assert wordpiece.encode(text) == slices(encoding), ascii(text)

from pathlib import Path

from workbench.core.storage.vector_cache import VectorCache
from workbench.people.generation.passages import answers_agree


def test_answers_agree_if_numbers_negations_and_words_do(tmp_path: Path) -> None:
    cases = [
        ("Up to 30 days a year.", "30 days", True),
        ("30 days", "25 days", False),
        ("€1,500", "1500", True),
        ("It is not allowed.", "It is allowed.", False),
        ("You can’t sign it", "you can't sign", True),
        ("twelve people", "7 people", False),
        ("twelve people", "12 people", True),
        ("at seven in the evening", "at eight in the morning", False),
        ("after 30 days in Galway", "30 days, in Halifax, on the island", False),
        ("the head of finance", "The Head of Finance", True),
        ("", "30 days", False),
        ("Ada Byron", "a blue whale", False),
    ]
    cache = VectorCache(tmp_path / "vectors.sqlite")
    assert [(answer, expected, answers_agree(answer, expected, cache)) for answer, expected, _ in cases] == cases

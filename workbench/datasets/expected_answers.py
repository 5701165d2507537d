"""Read the expected answer of a question and its variants."""

from typing import Any

from workbench.datasets.draft import DatasetDraft

# Fields with texts that are as good as `answer`. The first text of all is the expected answer.
VARIANTS = ("answers", "answer_variants", "aliases")


def pop_expected_answers(metadata: dict[str, Any], where: str, draft: DatasetDraft) -> tuple[str, ...]:
    """Remove the expected answers from the fields of a question, and return the distinct ones: the expected answer first.

    `answers`, `answer_variants` and `aliases` are lists of texts, or one text; `answers` may be SQuAD's `{text: [...]}`.
    """
    fields = {field: metadata.pop(field, None) for field in ("answer", *VARIANTS)}
    texts = [text for field, value in fields.items() for text in _texts(field, value, where, draft)]
    return tuple(dict.fromkeys(texts))


def _texts(field: str, value: Any, where: str, draft: DatasetDraft) -> list[str]:
    """Return the texts of a field, without blank ones. A number is a text without quotes."""
    inside = value.get("text", [value]) if field == "answers" and isinstance(value, dict) else value
    listed = inside if isinstance(inside, list) else [inside]
    if not all(isinstance(text, str | int | float | None) for text in listed):
        draft.fault(where, f"has {value!r} in {field!r}, which is neither a text nor a list of texts")
        return []
    return [str(text) for text in listed if text is not None and str(text).strip()]

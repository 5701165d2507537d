"""Count the tokens of a question in a prompt."""

import functools
from pathlib import Path
from typing import Any


def question_tokens(question: str, vocabulary: str | None, folder: Path) -> int:
    """Count the tokens of a question: `cl100k`, `characters`, `tokenizer.json` in the folder, or None if questions take no room."""
    if vocabulary is None:
        return 0
    return len(question) if vocabulary == "characters" else len(_encoding(vocabulary, folder)(question))


@functools.cache
def _encoding(vocabulary: str, folder: Path) -> Any:
    if vocabulary == "cl100k":
        import bpe_openai

        return bpe_openai.get_encoding("cl100k_base").encode
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / vocabulary))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids

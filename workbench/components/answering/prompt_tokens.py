"""Count the tokens of a generator's prompts."""

from collections.abc import Sequence

from workbench.components.answering.base import Generator
from workbench.components.context.context_packing import PromptTokens
from workbench.llm.models.tokenizers import Places, tokenise


def prompt_tokens(generator: Generator, overhead: int) -> PromptTokens:
    """Return the counts of a prompt whose system prompt, template and question have `overhead` tokens."""

    def starts(texts: Sequence[str]) -> list[Places]:
        return [tokens.starts for tokens in tokenise(texts, generator.vocabulary)]

    return PromptTokens(starts, overhead, generator.passage_overhead)

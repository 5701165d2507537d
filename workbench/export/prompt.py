"""Write what an export needs to pack a context as the sweep did: the budget, and the tokens of passages in the prompt's vocabulary."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.answering.base import Generator
from workbench.models.tokenizers import CHARACTERS, CL100K, count, tokenise, tokenizer_file
from workbench.pipeline.configuration import PipelineConfiguration

_TOKENIZER = "tokenizer.json"
_PACKAGES = {CL100K: ("bpe-openai",), CHARACTERS: ()}
# Any question does: its tokens are subtracted.
_QUESTION = "question"


def write_prompt(
    configuration: PipelineConfiguration, passages: Sequence[Mapping[str, Any]], folder: Path
) -> tuple[dict[str, Any] | None, Sequence[str]]:
    """Write the tokens of every slice. Return the settings of `context` and the packages that it needs; None for a configuration without answers."""
    generator, packing = configuration.answering, configuration.context
    if generator is None or packing is None:
        return None, ()
    vocabulary = generator.vocabulary
    slices = {passage["slice"]: passage["text"] for passage in passages}
    starts = [tokens.starts for tokens in tokenise(list(slices.values()), vocabulary)]
    first = np.cumsum([0, *map(len, starts)], dtype=np.int64)
    np.savez_compressed(folder / "prompt.npz", starts=np.concatenate([np.zeros(0, dtype=np.int64), *starts]), first=first)
    counts = _counts_questions(generator)
    # A slice with a token takes one of the budget.
    most = packing.budget if configuration.retrieval.deliver else configuration.retrieval.k
    if counts and vocabulary not in _PACKAGES:
        shutil.copyfile(tokenizer_file(vocabulary), folder / _TOKENIZER)
    settings = packing.model_dump(mode="json", exclude={"kind"}) | {
        "overhead": generator.overhead(_QUESTION) - (count(_QUESTION, vocabulary) if counts else 0),
        "around": [generator.passage_overhead(number + 1) for number in range(min(len(slices), most))],
        "vocabulary": None if not counts else vocabulary if vocabulary in _PACKAGES else _TOKENIZER,
        "deliver": configuration.retrieval.deliver is not None,
    }
    return settings, _PACKAGES.get(vocabulary, ("tokenizers",)) if counts else ()


def _counts_questions(generator: Generator) -> bool:
    """Return whether a longer question takes more room in the prompt."""
    return generator.overhead(_QUESTION) != generator.overhead(f"{_QUESTION} {_QUESTION}")

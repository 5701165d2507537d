"""Pack ranked candidates into the context that a generator reads, within a token budget. Every cut has its reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from workbench.components.context.packing import OVER_BUDGET, Limits, fit
from workbench.core.component import Component
from workbench.core.records import MOST_TOKENS, Passage
from workbench.core.text.words import VERSION, words
from workbench.llm.models.tokenizers import Places

Order = Literal["rank", "reversed", "ends"]


class ContextPacking(Component):
    """Pack the passages of a context into a token budget.

    The budget contains the prompt: system prompt, template and question, in the vocabulary of the generator where it is known. `ends` places
    the best passage first, the second last, the third second, and so on, so that the weakest are in the middle.
    """

    stage: ClassVar[str] = "context"

    kind: Literal["packed"] = "packed"
    budget: int = Field(default=2_000, ge=1, le=MOST_TOKENS, strict=True, description="The most tokens of a prompt with its passages.")
    order: Order = Field(default="rank", description="The order of passages: best first, best last, or the best at both ends.")
    drop_duplicates: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="The share of common word shingles from which a passage repeats a better one and is dropped."
    )

    def identity(self) -> dict[str, Any]:
        """Return everything that determines a context besides its candidates, as canonical JSON."""
        return {"version": self.version, "words": VERSION, **self.model_dump(mode="json")}


@dataclass(frozen=True)
class PromptTokens:
    """Token counts of one question's prompt.

    `starts` returns the characters at which the tokens of each text start, `overhead` is everything besides the passages, and
    `passage_overhead` the tokens around the passage with a number, from 1.
    """

    starts: Callable[[Sequence[str]], Sequence[Places]]
    overhead: int = 0
    passage_overhead: Callable[[int], int] = lambda _: 0

    def count(self, text: str) -> int:
        return len(self.starts([text])[0])


@dataclass(frozen=True, slots=True)
class CutPassage:
    """A candidate, or the rest of one, that is not in the context. `rank` is the candidate's number, from 1."""

    rank: int
    passage: Passage
    reason: str


@dataclass(frozen=True)
class PackedContext:
    """The passages of a context in the order of the prompt, each with its candidate's rank and its tokens, and all cuts by rank.

    `total` counts the prompt with its passages.
    """

    passages: tuple[Passage, ...] = ()
    ranks: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()
    cuts: tuple[CutPassage, ...] = ()
    total: int = 0


def pack_context(candidates: Sequence[Passage], packing: ContextPacking, prompt: PromptTokens, tokens: int | None = None) -> PackedContext:
    """Pack candidates, best first, into the budget of a prompt.

    `tokens` limits the passages with what is around them, in addition to the budget. A candidate that is cut at the budget is delivered up
    to the cut; the rest of it is one of the cuts.
    """
    numbers: dict[tuple[str, int, int], int] = {}
    pieces = [numbers.setdefault((passage.doc_id, passage.start, passage.end), len(numbers)) for passage in candidates]
    texts, around = [passage.text for passage in candidates], [prompt.passage_overhead(number + 1) for number in range(len(numbers))]
    room = packing.budget - prompt.overhead
    limits = Limits(None, room if tokens is None else min(room, tokens), around, packing.order, packing.drop_duplicates)
    fitted = fit(np.array(pieces, dtype=np.int64), texts, prompt.starts(texts), limits, words)
    placed, kept = fitted.placed.tolist(), fitted.characters.tolist()
    return PackedContext(
        passages=tuple(shortened(candidates[index], kept[index]) for index in placed),
        ranks=tuple(index + 1 for index in placed),
        tokens=tuple(int(fitted.tokens[index]) for index in placed),
        cuts=tuple(
            CutPassage(
                index + 1, replace(passage, start=passage.start + kept[index], text=passage.text[kept[index] :]), str(reason) or OVER_BUDGET
            )
            for index, (passage, reason) in enumerate(zip(candidates, fitted.reason, strict=True))
            if reason or kept[index] < len(passage.text)
        ),
        total=prompt.overhead + int(fitted.tokens.sum()),
    )


def shortened(passage: Passage, characters: int) -> Passage:
    """Return the first characters of a passage."""
    return passage if characters == len(passage.text) else replace(passage, end=passage.start + characters, text=passage.text[:characters])

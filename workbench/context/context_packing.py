"""The settings of a context: its token budget, the order of its passages, and whether near-duplicates are dropped."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from workbench.core.component import Component
from workbench.core.words import VERSION
from workbench.records import MOST_TOKENS

Order = Literal["rank", "reversed", "ends"]


class ContextPacking(Component):
    """Pack the passages of a context into a token budget.

    The budget contains the prompt: system prompt, template and question, in the vocabulary of the generator where it is known. `ends` places
    the best passage first, the second last, the third second, and so on, so that the weakest are in the middle.
    """

    stage: ClassVar[str] = "context"
    # Increased when equal settings begin to give other contexts.
    version: ClassVar[int] = 1

    kind: Literal["packed"] = "packed"
    budget: int = Field(default=2_000, ge=1, le=MOST_TOKENS, strict=True, description="The most tokens of a prompt with its passages.")
    order: Order = Field(default="rank", description="The order of passages: best first, best last, or the best at both ends.")
    drop_duplicates: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="The share of common word shingles from which a passage repeats a better one and is dropped."
    )

    def identity(self) -> dict[str, Any]:
        """Return everything that determines a context besides its candidates, as canonical JSON."""
        return {"version": self.version, "words": VERSION, **self.model_dump(mode="json")}

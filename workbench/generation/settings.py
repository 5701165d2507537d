"""The settings of a generation."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

QuestionKind = Literal["factoid", "multi_hop", "unanswerable"]


class GenerationSettings(BaseModel):
    """What to generate, and how strictly it is checked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: int = Field(default=50, ge=1, le=100_000)
    seed: int = Field(default=0, ge=0)
    # Shares of the questions. The rest are factoid.
    multi_hop: float = Field(default=0.1, ge=0, le=1)
    unanswerable: float = Field(default=0.1, ge=0, le=1)
    # How many candidates are made for each question that is requested, at most.
    tries: int = Field(default=3, ge=1, le=20)
    # Size of a passage in the embedder's tokens.
    passage_tokens: int = Field(default=256, ge=64, le=512)
    # Passages found by search that must not answer the question, besides the neighbours.
    retrieved: int = Field(default=4, ge=0, le=20)
    # Places besides the evidence that may answer a question. With more, it is dropped.
    alternatives: int = Field(default=2, ge=0, le=10)
    # Cosine from which two questions are near-duplicates.
    duplicate_cosine: float = Field(default=0.9, gt=0, le=1)
    # Documents that the reference answer is written from, and passages of each.
    reference_documents: int = Field(default=4, ge=3, le=5)
    reference_passages: int = Field(default=6, ge=1, le=20)
    # Tokens of a reply.
    max_tokens: int = Field(default=512, ge=64, le=8192)

    @property
    def targets(self) -> dict[QuestionKind, int]:
        """Return how many questions of each kind are wanted."""
        unanswerable = round(self.questions * self.unanswerable)
        multi_hop = min(self.questions - unanswerable, round(self.questions * self.multi_hop))
        return {"factoid": self.questions - unanswerable - multi_hop, "multi_hop": multi_hop, "unanswerable": unanswerable}

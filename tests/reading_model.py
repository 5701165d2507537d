"""A chat model on the loopback interface that writes questions about sentences of the passages it gets, and answers from what it reads."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.chat_provider import ChatProvider

_PASSAGE = re.compile(r"^\[\d+\]\n(`{3,})\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"(?:^|(?<=[.] )|(?<=\n))([A-Z][^\n.|#*]{50,160}\.)(?=\s|$)")


@dataclass
class ReadingModel:
    """Answers a question if the passages contain its quote. `scripted` has the reply to prompts with a text in their message, before all else."""

    provider: ChatProvider
    scripted: dict[str, Any] = field(default_factory=dict)
    # The answer and the quotes of each question.
    facts: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return f"{self.provider.host}/v1"

    @property
    def options(self) -> list[str]:
        return ["--provider", "openai", "--model", "qwen3-4b", "--base-url", self.base_url, "--retries", "0"]

    def know(self, question: str, answer: str, *quotes: str) -> dict[str, Any]:
        """Let the model know the answer where it reads all quotes, and return the reply that proposes the question."""
        self.facts[question] = (answer, quotes)
        names = ("quote",) if len(quotes) == 1 else ("first_quote", "second_quote")
        return {"question": question, "answer": answer} | dict(zip(names, quotes, strict=True))

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        system, user = (message["content"] for message in body["messages"])
        for text, reply in self.scripted.items():
            if text in user and (system.startswith("You write test") or user.endswith(text)):
                return {"text": reply if isinstance(reply, str) else json.dumps(reply)}
        passages = [match[2] for match in _PASSAGE.finditer(user)]
        if system.startswith("You write test"):
            return {"text": json.dumps(self._proposal(body, passages))}
        return {"text": json.dumps(self._answer(user.rpartition("Question: ")[2], passages, system.startswith("You answer")))}

    def _proposal(self, body: dict[str, Any], passages: list[str]) -> dict[str, Any]:
        fields = body["response_format"]["json_schema"]["schema"]["required"]
        found = [[sentence for sentence in _SENTENCE.findall(passage) if "?" not in sentence] for passage in passages]
        if fields == ["question"]:
            words = found[0][0].split()[:6] if found[0] else ["nothing"]
            return {"question": f"Who was the first to write that {' '.join(words)}?"}
        asked = body["messages"][-1]["content"].rpartition("again:")[2]
        quotes = [next((each for each in sentences if each not in asked), "") for sentences in found]
        if not all(quotes):
            return dict.fromkeys(fields, "")
        return self.know(f"Is it so that {' and '.join(quotes)}?", quotes[0], *quotes)

    def _answer(self, question: str, passages: list[str], quoting: bool) -> dict[str, Any]:
        answer, quotes = self.facts.get(question, ("", ("\0",)))
        read = " ".join(" ".join(passages).split())
        known = all(" ".join(quote.split()) in read for quote in quotes)
        reply: dict[str, Any] = {"answerable": known, "answer": answer if known else ""}
        return reply | ({"quote": quotes[0] if known else ""} if quoting else {})


@pytest.fixture
def reading_model(new_provider: Callable[[], ChatProvider]) -> ReadingModel:
    provider = new_provider()
    model = ReadingModel(provider)
    provider.reply_to = model.reply
    return model

"""A judge of another package that asks a server of OpenAI's protocol for a number and a verdict."""

from pathlib import Path
from typing import Any, ClassVar, Literal

from workbench.components.judging.base import Judge, Judgement
from workbench.llm.base import CallFailure, ChatCall, Message
from workbench.llm.providers.openai import OpenAIClient
from workbench.llm.session import ask_all

USUAL = "Reply with a number from 0 to 1 and a verdict."


class NumberJudge(Judge):
    """Reads replies such as `0.8 supported`. A reply without a number has no score."""

    calls_model: ClassVar[bool] = True
    kind: Literal["number"] = "number"
    base_url: str = "http://127.0.0.1:9/v1"
    prompt: str = ""
    concurrency: int = 8
    price_input: float | None = None
    price_output: float | None = None

    def client(self) -> OpenAIClient:
        prices = {"price_input": self.price_input, "price_output": self.price_output}
        return OpenAIClient(model="numbers", base_url=self.base_url, concurrency=self.concurrency, retries=0, timeout=5, **prices)

    def identity(self, task: Any) -> Any:
        return {"kind": self.kind, "prompt": self._prompt(), "task": task, "client": self.client().identity()}

    def call(self, requests: Any) -> ChatCall:
        (request,) = requests
        context = "\n".join(passage.text for passage in request.passages)
        asked = f"{request.task} | {request.question} | {request.claim or request.answer} | {' / '.join(request.expected)}"
        return ChatCall([Message("system", self._prompt()), Message("user", f"{context}\n{asked}")], max_tokens=16, temperature=0)

    def judge(self, requests: Any, resources: Any) -> Any:
        for place, outcome in ask_all(self.client(), [self.call([request]) for request in requests], resources.calls):
            yield place, judgement(requests[place].task, outcome)

    def _prompt(self) -> str:
        return Path(self.prompt).read_text("utf-8") if self.prompt else USUAL


def judgement(task: str, outcome: Any) -> Judgement:
    if isinstance(outcome, CallFailure):
        return Judgement(error=outcome.reason)
    spent = {name: getattr(outcome, name) for name in ("input_tokens", "output_tokens", "cost", "model", "seconds", "cached")}
    number, _, verdict = outcome.text.partition(" ")
    try:
        score = float(number)
    except ValueError:
        return Judgement(error="the reply is no number", **spent)
    return Judgement(score, verdict if task == "support" else "", passage=0, start=0, end=4, **spent)

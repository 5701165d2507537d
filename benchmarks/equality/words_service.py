"""A search by shared words: the function of `targets.yaml`, and a server that searches, answers, and judges by the hash of the prompt."""

import hashlib
import json
import math
import re
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

PORT = 18473
_WORD = re.compile(r"\w+")
_FOLDER = Path(__file__).resolve().parents[2] / "experiments/handbook/documents"
_PASSAGES = [
    {"doc_id": path.relative_to(_FOLDER).with_suffix("").as_posix(), "text": passage}
    for path in sorted(_FOLDER.rglob("*.md"))
    for passage in path.read_text("utf-8").split("\n\n")
]
_WORDS = [set(_WORD.findall(passage["text"].lower())) for passage in _PASSAGES]


def search(query: str, k: int = 5) -> list[dict[str, Any]]:
    """Return the k passages that share most words with the query, the shorter first."""
    words = set(_WORD.findall(query.lower()))
    scores = [len(words & passage) / (len(passage) + 20) for passage in _WORDS]
    best = sorted(range(len(_PASSAGES)), key=lambda place: -scores[place])[:k]
    return [{**_PASSAGES[place], "score": scores[place]} for place in best]


def answer(query: str) -> dict[str, Any]:
    """Return the first passage as the answer."""
    hits = search(query, 3)
    return {"answer": hits[0]["text"], "hits": hits}


class Handler(BaseHTTPRequestHandler):
    """Answers `/search`, `/ask` and the chat protocol of OpenAI."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Reply to one request."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        content = json.dumps(self._reply(body)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _reply(self, body: dict[str, Any]) -> Any:
        if self.path == "/search":
            return {"hits": search(body["query"], int(body["k"]))}
        return answer(body["query"]) if self.path == "/ask" else _chat(body)


def _chat(body: dict[str, Any]) -> dict[str, Any]:
    yes = (int(hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest(), 16) % 9 + 1) / 10
    tokens = [{"token": token, "logprob": math.log(share)} for token, share in (("yes", yes), ("no", 1 - yes))]
    first = tokens[0] if yes >= 0.5 else tokens[1]
    message = {"role": "assistant", "content": first["token"]}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": {"content": [first | {"top_logprobs": tokens}]}}
    return {"model": body["model"], "choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}

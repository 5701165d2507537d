"""An example of a service in production: it answers questions about the handbook over HTTP, and logs every question.

    python experiments/targets/handbook_service.py --log logs          # at http://127.0.0.1:8100
    curl -d '{"question": "who pays for the taxi"}' http://127.0.0.1:8100/answer
    curl -d '{"id": "…", "value": -1}' http://127.0.0.1:8100/feedback

Three options make it a release that went wrong: `--questions-embedder other` searches with vectors of another space, `--without finance` lacks a
folder of documents, and `--prompt free` lets answers say more than the documents. The versions in the log name what was released.
"""

import argparse
import json
import re
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

import workbench as wb

_WORD, _SENTENCE = re.compile(r"\w+"), re.compile(r"(?<=[.!?])\s+|\n+")
_LONGEST_BODY = 100_000
_NOTHING = "The handbook does not say."
# What a model with the prompt `free` adds, although no document says so.
_ADDED = "Exceptions are approved by the regional director within nine working days."


class Handbook:
    """Passages and their vectors. A search returns those that are similar enough to the question."""

    def __init__(self, folder: str, without: str, other: bool) -> None:
        documents = [each for each in wb.load_dataset(folder).documents if not (without and each.doc_id.startswith(f"{without}/"))]
        self.passages = wb.chunk_table(documents, wb.MarkdownChunker(size=128)).to_dict("records")
        self.embedder, self.other = wb.StaticEmbedder(), other
        self.vectors = self.embedder.encode([passage["text"] for passage in self.passages], "document")

    def embed(self, question: str) -> Any:
        """Return the vector of a question: float32 (256)."""
        (vector,) = self.embedder.encode([question], "query")
        return vector[::-1] if self.other else vector

    def search(self, vector: Any, k: int = 5, least: float = 0.3) -> list[dict[str, Any]]:
        """Return at most k passages of at least this cosine, best first."""
        scores = self.vectors @ vector
        best = [int(place) for place in np.argsort(-scores, kind="stable")[:k] if scores[place] >= least]
        return [
            {**{key: self.passages[place][key] for key in ("doc_id", "start", "end", "text")}, "score": float(scores[place])}
            for place in best
        ]


def answer(question: str, hits: list[dict[str, Any]], prompt: str) -> str:
    """Return the two sentences of the passages that share most words with the question. This stands for a model."""
    asked = set(map(str.lower, _WORD.findall(question)))
    sentences = [part.strip() for hit in hits for part in _SENTENCE.split(hit["text"]) if len(part) > 20]
    shared = [len(asked & set(map(str.lower, _WORD.findall(part)))) for part in sentences]
    best = sorted(range(len(sentences)), key=lambda place: -shared[place])[:2]
    text = " ".join(sentences[place] for place in sorted(best)) or _NOTHING
    return f"{text} {_ADDED}" if prompt == "free" else text


def serve(handbook: Handbook, log: wb.QueryLog, prompt: str, port: int) -> ThreadingHTTPServer:
    """Return the server, which listens on the loopback only."""

    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer a question, or log feedback to an answer."""
            length = int(self.headers.get("Content-Length") or 0)
            if not 0 < length <= _LONGEST_BODY:
                self.close_connection = True
                return self.reply(413, {"error": "the body is empty or too long"})
            try:
                given = json.loads(self.rfile.read(length))
                reply = {"/answer": self.answered, "/feedback": self.rated}[self.path](given)
            except (ValueError, KeyError, TypeError) as error:
                return self.reply(400, {"error": f"this request is not understood ({type(error).__name__})"})
            return self.reply(200, reply)

        def answered(self, given: dict[str, Any]) -> dict[str, Any]:
            with log.question(given["question"], user=given.get("user"), session=given.get("session"), turn=given.get("turn")) as logged:
                with logged.embedding():
                    vector = handbook.embed(given["question"])
                with logged.retrieval():
                    hits = handbook.search(vector)
                logged.hits(hits)
                with logged.generation():
                    text = answer(given["question"], hits, prompt)
                logged.answer(text, refused=text == _NOTHING)
            return {"id": logged.id, "answer": text, "sources": [hit["doc_id"] for hit in hits]}

        def rated(self, given: dict[str, Any]) -> dict[str, Any]:
            log.feedback(given["id"], "thumb", float(given["value"]))
            return {}

        def reply(self, status: int, value: dict[str, Any]) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing for a request: the log has it."""

    return ThreadingHTTPServer(("127.0.0.1", port), Requests)


def main() -> None:
    """Read the options and serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", required=True, help="the folder of the log")
    parser.add_argument("--documents", default="experiments/handbook")
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--without", default="", help="a folder of documents that the index lacks, such as finance")
    parser.add_argument("--questions-embedder", choices=("static", "other"), default="static")
    parser.add_argument("--prompt", choices=("strict", "free"), default="strict")
    given = parser.parse_args()
    index = f"handbook without {given.without}" if given.without else "handbook"
    versions = {"index": index, "embedder": given.questions_embedder, "prompt": given.prompt}
    log = wb.QueryLog(given.log, versions=versions, configuration="markdown-128-static")
    server = serve(Handbook(given.documents, given.without, given.questions_embedder == "other"), log, given.prompt, given.port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    finally:
        log.close()


if __name__ == "__main__":
    main()

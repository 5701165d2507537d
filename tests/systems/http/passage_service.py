"""A service that finds passages of the handbook and answers with the first: the requests of docs/how-to/evaluate_your_system.md."""

import re
from pathlib import Path

from fastapi import FastAPI
from pydantic import BaseModel

FOLDER = Path("experiments/handbook/documents")
PASSAGES = [
    {"document": path.relative_to(FOLDER).with_suffix("").as_posix(), "content": passage}
    for path in sorted(FOLDER.rglob("*.md"))
    for passage in path.read_text("utf-8").split("\n\n")
]
WORDS = [set(re.findall(r"\w+", passage["content"].lower())) for passage in PASSAGES]


class Question(BaseModel):
    question: str
    top_k: int = 5


app = FastAPI()


@app.post("/search")
def search(request: Question):
    words = set(re.findall(r"\w+", request.question.lower()))
    scores = [len(words & passage) / (len(passage) + 20) for passage in WORDS]
    best = sorted(range(len(PASSAGES)), key=lambda place: -scores[place])[: request.top_k]
    return {"passages": [{**PASSAGES[place], "score": scores[place]} for place in best]}


@app.post("/ask")
def ask(request: Question):
    passages = search(request)["passages"]
    return {"answer": passages[0]["content"], "based_on": passages, "method": "first passage"}

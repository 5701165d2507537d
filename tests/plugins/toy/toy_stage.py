"""A stage as another package brings it: the words of every chunk, counted. TOY_VERSION stands for a change of its code."""

import os

import numpy as np
import pandas as pd

from workbench.core.schemas import TableSchema
from workbench.runner.pipeline.stage import Identity, Stage

WORDS_TABLE = TableSchema.of(
    "chunk_words",
    "configuration and number of words",
    {
        "configuration": ("str", "the configuration's name"),
        "words": ("int64", "the number of words"),
        "chunks": ("int64", "the number of chunks"),
    },
)


def words_table(results):
    words, chunks = np.unique(results.entry("words").array("words"), return_counts=True)
    return pd.DataFrame({"words": words, "chunks": chunks})


class WordsStage(Stage):
    """Array `words`: how many words each chunk has."""

    name = "words"
    version = int(os.environ.get("TOY_VERSION", "1"))
    inputs = ("chunks",)
    tables = {WORDS_TABLE: words_table}  # noqa: RUF012  # never changed

    def applies(self, configuration, run):
        return configuration.chunking.kind == "fixed"

    def identity(self, node, run):
        return Identity({"split": "blanks"})

    def compute(self, inputs, writer):
        table, documents = inputs.entry("chunks").table("chunks"), inputs.run.dataset.documents
        rows = zip(table["doc"], table["start"], table["end"], strict=True)
        writer.array("words", np.array([len(documents[doc].text[start:end].split()) for doc, start, end in rows]))
        writer.values("made", {"pid": os.getpid()})


WORDS = WordsStage()

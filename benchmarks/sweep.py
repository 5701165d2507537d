"""A chunking sweep against the loop that one would otherwise write, in one process, on the first documents of covid-qa.

The loop: LangChain's splitter, SentenceTransformer.encode as it is (batch 32), a Chroma collection, and a query at a time. Both
sides embed the same documents in four chunkings; the loop computes no metric, the sweep all of them.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import chromadb
from langchain_text_splitters import RecursiveCharacterTextSplitter
from sentence_transformers import SentenceTransformer

from workbench.data.sources import BeirSource
from workbench.experiment.outputs import write_outputs
from workbench.experiment.run import Outcome, run_experiment
from workbench.experiment.spec import experiment_of
from workbench.models import MINILM, locate
from workbench.paths import data_folder
from workbench.records import Dataset
from workbench.tokens import count

DOCUMENTS = 12
SIZES = ((64, 0), (128, 0), (128, 64), (256, 0))


def run() -> dict[str, object]:
    """Seconds and ratios: the loop, a cold sweep, the sweep again with nothing new, and with one chunking added."""
    whole = BeirSource(path="$WORKBENCH_DATA/covid-qa").load()
    kept = {document.doc_id for document in whole.documents[:DOCUMENTS]}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        part = write_part(whole, kept, place / "part")
        model = SentenceTransformer(str(locate(MINILM)), device="cpu")
        sweep(part, place / "warm", SIZES[:1])  # loading the model is nobody's cost
        loop = seconds(lambda: naive_loop(part, model, place / "loop"))
        cold = seconds(lambda: sweep(part, place / "outputs", SIZES))
        again = seconds(lambda: sweep(part, place / "outputs", SIZES))
        added = seconds(lambda: sweep(part, place / "outputs", (*SIZES, (256, 64))))
        alone = seconds(lambda: sweep(part, place / "alone", ((256, 64),)))
    return {
        "documents": DOCUMENTS,
        "chunkings": [f"recursive {size}/{overlap}" for size, overlap in SIZES],
        "seconds": {"loop": loop, "cold": cold, "again": again, "one_added": added, "that_one_alone": alone},
        "ratios": {
            "loop / cold sweep": loop / cold,
            "cold sweep / sweep again": cold / again,
            "(sweep with one added - sweep again) / that one alone": (added - again) / alone,
        },
    }


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return round(time.perf_counter() - started, 2)


def write_part(whole: Dataset, kept: set[str], folder: Path) -> Path:
    """The documents kept, with their questions, as a BEIR folder."""
    source = data_folder() / "covid-qa"
    (folder / "qrels").mkdir(parents=True)
    queries = {qrel.query_id for qrel in whole.qrels if qrel.doc_id in kept}
    for name, wanted in (("corpus.jsonl", kept), ("queries.jsonl", queries), ("evidence.jsonl", queries)):
        lines = (source / name).read_text("utf-8").splitlines(keepends=True)
        (folder / name).write_text("".join(line for line in lines if _id(line) in wanted), "utf-8")
    rows = (source / "qrels" / "test.tsv").read_text("utf-8").splitlines(keepends=True)
    (folder / "qrels" / "test.tsv").write_text("".join(row for row in rows if row.startswith("query") or row.split("\t")[0] in queries))
    return folder


def sweep(part: Path, outputs: Path, sizes: tuple[tuple[int, int], ...]) -> Outcome:
    """Our side: chunks, vectors, indexes, exact and approximate ranks, metrics, tables; no notebooks."""
    chunking = [{"kind": "recursive", "size": size, "overlap": overlap} for size, overlap in sizes]
    settings = {"name": "part", "dataset": {"kind": "beir", "path": str(part)}, "sweep": {"chunking": chunking}}
    outcome = run_experiment(experiment_of(settings, "benchmark"), outputs, lambda _: None)
    write_outputs(outcome)
    return outcome


def naive_loop(part: Path, model: SentenceTransformer, folder: Path) -> None:
    """The other side."""
    dataset = BeirSource(path=str(part)).load()
    client = chromadb.PersistentClient(str(folder))
    for size, overlap in SIZES:
        splitter = RecursiveCharacterTextSplitter(
            chunk_size=size - 2, chunk_overlap=overlap, length_function=lambda text: count(text, MINILM)
        )
        texts = [piece for document in dataset.documents for piece in splitter.split_text(document.text)]
        vectors = model.encode(texts, show_progress_bar=False)
        collection = client.create_collection(f"c{size}-{overlap}", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None)
        collection.add(ids=[str(number) for number in range(len(texts))], embeddings=vectors, documents=texts)
        for query in dataset.queries:
            collection.query(query_embeddings=model.encode([query.text], show_progress_bar=False), n_results=10)


def _id(line: str) -> str:
    row = json.loads(line)
    return str(row.get("_id", row.get("query_id")))

"""The snippet of the design. tests/api/test_snippet.py runs it; `make check` checks its types without plugins, as a user would."""

import workbench as wb

dataset = wb.load_dataset("experiments/handbook", split="dev")
chunks = wb.SentenceChunker(size=256).split(dataset.documents[0])
assert chunks[0].text == dataset.documents[0].text[: chunks[0].end]
wb.chunk_table(dataset, wb.FixedChunker(size=256))

pipeline = wb.Pipeline(chunking=wb.FixedChunker(size=256), embedding=wb.SentenceTransformerEmbedder(), retrieval=wb.DenseRetriever(k=10))
index = pipeline.index(dataset)
index.search("who pays for the taxi", k=5)
wb.evaluate(index, dataset, ["recall@5", wb.recall @ 5])

experiment = wb.Experiment.from_yaml("experiments/quickstart.yaml")
experiment.plan()
results = wb.sweep(experiment, outputs="outputs")
results = wb.load("outputs/quickstart")
tables = (results.metrics, results.queries, results.hits)
a, b = experiment.names
findings = (results.leaderboard(), results.verdict, results.compare(a, b), results.causes(a))
shown = (results.plot.leaderboard(), results.plot.frontier(), results.to_html("report.html"))

# Wrong on purpose: a type checker that accepted these would report the comments as unused.
misspelt = [
    lambda: wb.load_datset("x"),  # type: ignore[attr-defined]
    lambda: wb.FixedChunker(sise=3),  # type: ignore[call-arg]
    lambda: results.leaderbord(),  # type: ignore[attr-defined]
]

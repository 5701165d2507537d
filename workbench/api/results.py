"""A finished run in a notebook: its tables, ranking, comparisons and misses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self, cast, overload

import pandas as pd

from workbench.api.arguments import require
from workbench.api.plots import Plots
from workbench.core.environment import find_upwards
from workbench.core.errors import InputError
from workbench.core.records import Dataset
from workbench.core.schemas import SCHEMAS
from workbench.core.text.formatting import meant, plural
from workbench.core.text.guessed_names import advised_names, checked_names
from workbench.measures.statistics.verdict import Verdict
from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.causes import answer_cause_meanings, cause_meanings, failed_answers, missed_evidence
from workbench.report.analysis.decision import decide, shown_first
from workbench.report.analysis.decomposition import decomposition_table
from workbench.report.analysis.findings import Findings, findings
from workbench.report.analysis.judges import has_judges
from workbench.report.analysis.pairwise import compared
from workbench.report.analysis.parts import parts_table
from workbench.report.render.html import write_report
from workbench.report.render.notebook import show
from workbench.report.results.run_tables import RunTables
from workbench.report.runs.comparison import RunPair
from workbench.report.runs.comparison_page import RunComparison
from workbench.report.topics.decision.opening import opening
from workbench.report.topics.retrieval.ranking import ranking_table
from workbench.report.views import AnswersView, ComparisonView, ConfigurationView, JudgeView

if TYPE_CHECKING:
    from workbench.api.scoring.rescore import Rescorer
    from workbench.gate.check import GateReport
    from workbench.measures.metrics.names import Metric


# Why the leaderboard takes no metric.
_OTHER_RANKING = (
    "it ranks by the primary metric, which decides; results.what_if('recall@5', 'field=value') ranks by another metric or slice"
)


class PublicTable:
    """A table of a run as a documented attribute of its results."""

    def __init__(self, table: str) -> None:
        self._table = table
        self.__doc__ = SCHEMAS[table].about

    @overload
    def __get__(self, results: None, owner: type) -> Self: ...
    @overload
    def __get__(self, results: "Results", owner: type) -> pd.DataFrame: ...
    def __get__(self, results: "Results | None", owner: type) -> Self | pd.DataFrame:
        return self if results is None else results.table(self._table)


@dataclass(frozen=True, eq=False, repr=False)
class Results(RunTables):
    """A finished run, opened from its tables without a model, store or dataset.

    Every table is a DataFrame that is read on first use. `workbench.core.schemas` lists the columns.

    Examples
    --------
    >>> import workbench as wb
    >>> results = wb.load("outputs/sizes")
    >>> results.verdict.best
    ('fixed-256-0-bm25', 'fixed-128-0-bm25')
    >>> results.metrics.query("slice == 'all' and metric == 'recall@5'")["n"].tolist()
    [78, 78]
    """

    guesses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("best", "winner", "top", "leader", "best_configuration"),
            "results.verdict, which names a winner only outside the noise: .winner, or the tie set .best; results.leaderboard() ranks",
        ),
        **dict.fromkeys(("to_csv", "to_excel", "to_json", "to_parquet", "save"), "the method of a table: results.metrics.to_csv(path)"),
        **dict.fromkeys(
            ("df", "to_df", "to_pandas", "table", "data", "head", "shape", "columns", "scores", "describe"),
            "a table, each a DataFrame: results.metrics (means), results.queries (values of questions), results.hits, results.leaderboard()",
        ),
        **dict.fromkeys(("mean", "means", "metric", "values"), "results.metrics, the means, or results.leaderboard()"),
        **dict.fromkeys(("misses", "failures_of", "missed", "wrong"), "results.causes(configuration)"),
        **dict.fromkeys(
            ("slices", "slice", "by_slice", "groupby"),
            "results.metrics.query(\"slice != 'all'\"), or results.what_if(metric, 'field=value') for a ranking on one slice",
        ),
        **dict.fromkeys(("configs", "pipelines", "systems"), "results.configurations, or list(results) for the names"),
        **dict.fromkeys(("ranking", "rank", "ranks", "sort", "top_k"), "results.leaderboard()"),
        **dict.fromkeys(("report", "html", "show", "print", "display"), "results.summary(), or results.to_html(path) for the report"),
        **dict.fromkeys(
            ("diff", "difference", "differences", "significance", "p_values", "test", "pairwise"),
            "results.compare(a, b), results.comparisons for all pairs, or results.compare_runs(other)",
        ),
        **dict.fromkeys(("errors", "failed"), "results.failures"),
        **dict.fromkeys(("load", "open", "from_path"), "wb.load(path)"),
    }

    unlisted: ClassVar[frozenset[str]] = frozenset({*vars(RunTables), "manifest", "memo", "sources"}) - {"failures", "folder", "name"}
    if TYPE_CHECKING:
        # A wrong name stays an error for type checkers.
        __getattr__ = None  # type: ignore[assignment, misc]

    metrics = PublicTable("metrics")
    queries = PublicTable("queries")
    hits = PublicTable("hits")
    configurations = PublicTable("configurations")
    comparisons = PublicTable("comparisons")
    timings = PublicTable("timings")
    questions = PublicTable("questions")
    answers = PublicTable("answers")
    claims = PublicTable("claims")
    judgements = PublicTable("answer_judgements")
    judges = PublicTable("judges")
    targets = PublicTable("targets")
    samples = PublicTable("samples")
    lost = PublicTable("lost")

    @cached_property
    def tables(self) -> RunTables:
        """Every table by its name in `workbench.core.schemas`, also those whose names are methods here, such as `causes`."""
        return RunTables.view(self, self.folder)

    @cached_property
    def plot(self) -> Plots:
        """The figures of the run, such as `results.plot.leaderboard()`."""
        return Plots(self._findings)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict by the primary metric. None if no configuration can be compared."""
        return self._findings.verdict

    @advised_names(**dict.fromkeys(("metric", "by", "sort_by", "slice", "within", "more"), _OTHER_RANKING))
    def leaderboard(self) -> pd.DataFrame:
        """Rank the configurations by the primary metric.

        Returns
        -------
        A DataFrame indexed by configuration. `place` is missing for configurations that are not ranked: beyond their embedder's
        window, or with a value of the primary metric for fewer than 90 % of the questions. `mark` is `winner`, or `=` if the configuration is statistically indistinguishable from the best. The other columns are
        the primary metric with `low` and `high`, and the means of the other metrics.

        Examples
        --------
        >>> results.leaderboard()["mark"].to_dict()
        {'fixed-256-0-bm25': '=', 'fixed-128-0-bm25': '='}
        """
        standings, primary = self._findings.standings, str(self.primary)
        columns = ["configuration", "place", "mark", primary, "low", "high"]
        rows = []
        for place, standing in enumerate(standings.finished, 1):
            mean, ranked = standing.means[primary], place if place <= len(standings.ranked) and standing.means[primary].n else None
            values = (standing.name, ranked, self._findings.mark(standing.name), mean.value, mean.low, mean.high)
            rows.append(dict(zip(columns, values, strict=True)) | {name: other.value for name, other in standing.means.items()})
        table = pd.DataFrame(rows, columns=None if rows else columns)
        return table.astype({"place": "Int64"}).set_index("configuration")

    @advised_names(
        more="write results.compare(a, b) for two configurations, and results.compare(a, b, other) for one of this run and one of another"
    )
    def compare(self, a: str, b: str, other: "Results | str | Path | None" = None) -> pd.DataFrame:
        """Compare two configurations by every metric, on the same questions: two of this run, or `b` of another.

        Parameters
        ----------
        a: a configuration of this run.
        b: another of this run, or one of `other`.
        other: another run on the same questions, or its folder.

        Returns
        -------
        A DataFrame indexed by metric, with `difference` (a - b) and its bounds `low` and `high`, `n`, `clusters` and `conditional`. The primary
        metric of two ranked configurations is tested: its bounds hold for all comparisons of its family at once, `p_adjusted` is corrected for
        them, and `equivalent` is True if the difference is shown to be smaller than the experiment's `smallest_difference`. Other rows are
        `exploratory`: their bounds are of each difference by itself. Between two runs nothing is tested, and these columns are missing:
        `workbench gate` decides whether a run lost something.

        Raises
        ------
        InputError: a run has no such configuration, or it failed, or both are the same; or the other run has other questions.

        Examples
        --------
        >>> results.compare("fixed-128-0-bm25", "fixed-256-0-bm25").loc["recall@5", ["n", "clusters"]].tolist()
        [78, 46]
        >>> float(results.compare("fixed-128-0-bm25", "fixed-128-0-bm25", "outputs/sizes").loc["recall@5", "difference"])
        0.0
        """
        if other is not None:
            another = opened(other, "other")
            return RunPair(another, self).by_metric(another._known(b), self._known(a))
        if isinstance(a, Results) or isinstance(b, Results):
            raise InputError(
                "a run is compared by its configurations", "write results.compare(a, b, other), a of this run and b of the other"
            )
        if a == b:
            raise InputError(f"{a} is compared with itself", "give two configurations, or a run as the third argument")
        for name in (a, b):
            self._known(name)
        return compared(self, a, b)

    def compare_runs(self, other: "Results | str | Path") -> RunComparison:
        """Compare this run with a later one: what changed in settings, data and versions, and what that did.

        Configurations are matched by their settings, and those that only one run has if a single setting differs. Both runs are compared on the
        questions with the same text and labels, by the primary metric; p and bounds are corrected for all matched configurations.

        Returns
        -------
        A comparison with the `sentence` that concludes, and the tables `changes`, `configurations` (the differences, later minus earlier, with
        `reading`: `better`, `worse`, `equivalent`, `identical`, `no difference shown` or `too few questions`), `questions` (the largest changes with
        causes), `ranking`, `costs` and `omitted` (the questions that differ). Its method `to_html(path)` writes a page.

        Raises
        ------
        InputError: both are the same run, or have different primary metrics, or no question in common.

        Examples
        --------
        >>> results.compare_runs("later/sizes").configurations[["configuration", "changed"]].to_numpy().tolist()
        [['fixed-128-0-bm25-stemmer_none', 'retrieval.stemmer english → none']]
        """
        return RunComparison.of(self, opened(other, "other"))

    @checked_names
    def what_if(self, metric: "str | Metric" = "", within: str = "all", *, dataset: Dataset | None = None) -> pd.DataFrame:
        """Rank the configurations by any metric of rankings, on any slice of the questions, from the stored rankings.

        Nothing is searched or embedded. A value that the sweep computed is read; others are computed from the stored hits by the same code. A
        configuration whose stored rankings end too early has no value. Only the primary metric over all questions decides.

        Parameters
        ----------
        metric: a name with its cut, such as `recall@3`, `span_recall@1500t` or `complete@4`; by default the primary metric.
        within: the slice of the questions: `all`, `field=value`, or several joined by `&`, such as `type=multi-hop&domain=hr`.
        dataset: the dataset of the run, if its experiment does not name it. Metrics that need documents use it if it is unchanged.

        Returns
        -------
        A DataFrame with a row for each configuration, best first: `configuration`, `value` with its 95 % interval `low` to `high`, `n`,
        `clusters`, `unscored`, `attainable`, `conditional`, `source` (`sweep`, `re-scored` or `none`) and a `note`. `attrs["claim"]`: its use.

        Raises
        ------
        InputError: there is no such metric or slice.

        Examples
        --------
        >>> results.what_if("recall@3")[["configuration", "n", "source"]].sort_values("configuration").to_dict("records")[0]
        {'configuration': 'fixed-128-0-bm25', 'n': 78, 'source': 're-scored'}
        """
        # Deferred: opening and reading a run needs no library of metrics.
        from workbench.api.scoring.rescore import RunDataset
        from workbench.api.scoring.what_if import WhatIfQuestion, what_if_table
        from workbench.measures.metrics.names import metrics_given

        require(within, str, "within")
        if dataset is not None:
            require(dataset, Dataset, "dataset")
        (chosen,) = metrics_given(str(self.primary) if isinstance(metric, str) and not metric else metric)
        question = WhatIfQuestion(chosen, within)
        rescorer = self.rescorer if dataset is None else replace(self.rescorer, dataset=RunDataset(self, dataset))
        return what_if_table(rescorer, question)

    def parts(self) -> pd.DataFrame:
        """Estimate what each part adds: the effect of every alternative of a stage on each metric.

        An effect is the mean over all pairs of configurations that are equal in everything else (`pairs` of `possible`, where configurations
        failed or are not ranked) of the difference on the same questions. Every alternative is compared with `none` if the stage can be left
        out, else with the first alternative, and hybrid retrieval with each of its retrievers that the run has alone.

        Returns
        -------
        A DataFrame with the columns `stage`, `alternative`, `reference`, `metric`, `difference` (alternative - reference) with `low`, `high`,
        `n`, `clusters` and `conditional`, `pairs` and `possible`. In the rows of the primary metric also `p`, `p_adjusted` and the bounds
        `low_adjusted` and `high_adjusted`, corrected for all effects; `detectable`, the effect that these questions show with 80 % power;
        `lowest` and `highest` among the pairs and `p_differs`, that they differ; the milliseconds per question that it adds, `added_p50` and `added_p95`, with
        `_low` and `_high`; and the `verdict`: `worth it`, `no benefit shown` or `harmful` for a part that is added, else `better`, `no difference
        shown` or `worse`, or `a gain on these documents`, `a loss on these documents` or `too few data for a claim`. Empty if no stage varies.

        Examples
        --------
        >>> results.parts()[["alternative", "reference", "verdict"]].iloc[0].tolist()
        ['fixed, size 256', 'fixed, size 128', 'no difference shown']
        """
        return parts_table(self)

    @checked_names
    def decomposition(self, metric: str = "") -> pd.DataFrame:
        """Separate what answers lose through retrieval, distractors and each attack, by a metric of answers.

        Returns
        -------
        A DataFrame with a row for each configuration and `part`: the score with the `evidence alone`, the losses against it on the same questions
        (`retrieval`, `distractors`, `counterfactual/before`, `injection/override` …), what is `remaining` lost with the evidence alone, and
        the `closed book` score. `value` has its own 95 % interval `low` to `high`; losses also have bounds that hold for all losses of the configuration
        (`low_adjusted`, `high_adjusted`), `p`, `p_adjusted`, the `detectable` loss and a `reading`: `loss`, `gain`, `no loss shown`,
        `masked by refusals` or `too few data for a claim`. `refused_alone` and `refused` are the shares of answers that are refused with the evidence
        alone and in the condition. If the first is larger, a loss is masked: `answered_value`, with simultaneous bounds, is that of the
        `answered_n` questions without a refused answer from the evidence alone, and `answered_detectable` the loss that these show. The default
        metric is the run's first of an answer's content. Empty without answers from the evidence alone.

        Examples
        --------
        >>> results.decomposition().columns[:4].tolist()
        ['configuration', 'metric', 'part', 'value']
        """
        return decomposition_table(self, metric)

    @checked_names
    def causes(self, configuration: str, of: Literal["evidence", "answers"] = "evidence") -> pd.DataFrame:
        """List what a configuration misses, or which of its answers failed, and why.

        Returns
        -------
        A DataFrame with a row for each missed piece of evidence or document. Its columns are `query_id`, `question`, `cause`, `evidence`
        (`doc_id:start-end`, or the document), `rank` (0 if it was not retrieved) and `meaning` of the cause. Of `answers`, it has a row for each
        failed answer, with its `condition` and `repeat` in place of `rank`; `evidence` is the claim or the missed evidence that shows the cause,
        or empty. Without judges no answer has a cause.

        Raises
        ------
        InputError: the run has no such configuration, or it failed.

        Examples
        --------
        >>> sorted(set(results.causes("fixed-128-0-bm25")["cause"]))
        ['boundary', 'rank']
        """
        name = self._known(configuration)
        if of == "answers":
            rows, meanings = failed_answers(self, name), answer_cause_meanings(self)
            rows = rows[["query_id", "condition", "repeat", "cause", "evidence"]]
        elif of == "evidence":
            rows, meanings = missed_evidence(self, name)[["query_id", "cause", "evidence", "rank"]], cause_meanings(self)
        else:
            raise InputError(f"{of!r} has no causes{meant(str(of), ['evidence', 'answers'])}", "write evidence or answers")
        rows.insert(1, "question", rows["query_id"].map(self.questions.set_index("query_id")["text"]))
        return rows.assign(meaning=rows["cause"].map(dict(meanings)))

    @checked_names
    def gate(
        self, *rules: str, configuration: str = "", baseline: str | Path = "", tolerance: str = "", compare: Sequence[str] = ()
    ) -> "GateReport":
        """Check the run against limits and a baseline, as `workbench gate` does, without writing anything.

        Rules such as `recall@5 >= 0.7` are added to those of the experiment's key `gate`. The other arguments replace its keys.

        Returns
        -------
        A report with the `outcome`, a result with its `reason` for each of the `rules`, and the questions that `lost` something.

        Raises
        ------
        InputError: there is no rule, or one cannot be checked.

        Examples
        --------
        >>> report = results.gate("recall@5 >= 0.5", configuration="fixed-128-0-bm25")
        >>> report.outcome.value, report.exit_code, report.rules[0].rule
        ('pass', 0, 'recall@5 >= 0.5')
        """
        # Deferred: opening and reading a run needs no library of metrics.
        from workbench.gate.check import check_gate
        from workbench.runner.experiment.gate_keys import gate_of

        known = dict(self.manifest["experiment"].get("gate", {}))
        given = {"configuration": configuration, "baseline": str(baseline), "tolerance": tolerance, "compare": list(compare)}
        known |= {name: value for name, value in given.items() if value} | {"rules": [*known.get("rules", []), *rules]}
        return check_gate(self, gate_of({"gate": known}, "the rules"))

    def to_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML file, and return its path.

        Examples
        --------
        >>> results.to_html("sizes.html").stat().st_size > 100_000
        True
        """
        return write_report(self, Path(path))

    @checked_names
    def log_to_mlflow(self, experiment: str = "", *, tracking_uri: str = "") -> str:
        """Log the run to MLflow, and return the id of the MLflow run.

        The run of MLflow has the verdict (tag `workbench.verdict` and `verdict.txt`), the leaderboard as a table (`leaderboard.json`) and the report
        (`report.html`). A nested run for each configuration has the settings that vary as parameters and the means as metrics: `recall_at_5` for `recall@5`,
        `recall_at_5_low` and `_high` for the interval of the primary metric, and the condition after a dot for answers under conditions. The tag
        `workbench.metrics` maps these names to ours. `experiment` and `tracking_uri` are those of MLflow, by default the ones that are set there.
        Needs `pip install 'rag-workbench[mlflow]'`.

        Raises
        ------
        InputError: MLflow is not installed, or refuses the run.

        Examples
        --------
        >>> len(results.log_to_mlflow("sizes", tracking_uri=server))  # the address of your server, such as http://localhost:5000
        32
        """
        # Deferred: MLflow is an extra.
        from workbench.api.mlflow import log_results

        return log_results(self, self.leaderboard(), experiment, tracking_uri)

    @checked_names
    def export(self, configuration: str, folder: str | Path | None = None, *, allow_code: bool = False) -> Path:
        """Export a configuration as a folder that answers questions without Workbench, and return the folder.

        The folder contains the Chroma collection or the BM25 index, the settings, the model and `retrieve.py`. It is
        `<outputs>/<name>/export/<configuration>` by default, where a new export replaces an earlier one. `allow_code` runs the functions that the configuration names.

        Raises
        ------
        InputError: the configuration does not exist or names code, its results are not in the store beside the run, or `folder` exists.

        Examples
        --------
        >>> folder = results.export("fixed-256-0-bm25", "taxi_finder")
        >>> (folder / "retrieve.py").is_file()
        True
        """
        # Deferred: opening and reading a run needs neither models nor a store.
        from workbench.api.export.export import export_configuration

        return export_configuration(self.folder, self._known(configuration), Path(folder) if folder else None, allow_code)

    @cached_property
    def rescorer(self) -> "Rescorer":
        """The stored rankings of the run, which `what_if` scores."""
        from workbench.api.scoring.rescore import Rescorer, RunDataset

        return Rescorer(self, self.folder, RunDataset(self))

    def comparison(self) -> ComparisonView:
        """Show the sections of the report one by one, as the comparison notebook does.

        Examples
        --------
        >>> type(results.comparison().ranking()).__name__
        'Shown'
        """
        return ComparisonView(self)

    def summary(self) -> str:
        """Return the decision at the head of the report as lines of text: what to use, how sure that is, its cost, and what to do next.

        Examples
        --------
        >>> results.summary()[:10]
        'Start with'
        """
        return opening(decide(self._findings)).text

    @checked_names
    def configuration(self, name: str) -> ConfigurationView:
        """Show one configuration question by question, as its notebook does.

        Raises
        ------
        InputError: the run has no such configuration, or it failed.

        Examples
        --------
        >>> type(results.configuration("fixed-128-0-bm25").worst()).__name__
        'Shown'
        """
        return ConfigurationView(self, self._known(name))

    def answer_view(self, configuration: str = "") -> AnswersView:
        """Show the answers of the run, and those of one configuration beside their contexts, as the answers notebook does.

        The default is the configuration that the report's first screen shows, or else the first of the ranking that answers.

        Raises
        ------
        InputError: the run has no answers, or no such configuration.

        Examples
        --------
        >>> results.answer_view()
        Traceback (most recent call last):
        workbench.core.errors.InputError: the run sizes has no answers; add answering to the pipeline of the experiment and sweep again
        """
        names = shown_first(self._findings, answering(self))
        if not names:
            raise InputError(f"the run {self.name} has no answers", "add answering to the pipeline of the experiment and sweep again")
        name = self._known(configuration) if configuration else names[0]
        if name not in names:
            raise InputError(f"{name} has no answers", f"choose one of {', '.join(names)}")
        return AnswersView(self, name)

    def judge_view(self, configuration: str = "") -> JudgeView:
        """Show how far the judges of the run can be trusted and why answers fail, as the judge notebook does.

        The claims are those of one configuration, by default of the one that the report's first screen shows, or else the first that answers.

        Raises
        ------
        InputError: the run has no judges, or no such configuration.

        Examples
        --------
        >>> results.judge_view()
        Traceback (most recent call last):
        workbench.core.errors.InputError: the run sizes has no judges; add answering to the pipeline of the experiment and sweep again
        """
        if not has_judges(self):
            raise InputError(f"the run {self.name} has no judges", "add answering to the pipeline of the experiment and sweep again")
        return JudgeView(self, self.answer_view(configuration).name)

    def __getitem__(self, name: str) -> ConfigurationView:
        """Return `configuration(name)`."""
        return self.configuration(name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the finished configurations."""
        return iter(self.names)

    def __len__(self) -> int:
        """Return the number of finished configurations."""
        return len(self.names)

    def __bool__(self) -> bool:
        """Return True, also without a finished configuration."""
        return True

    def _repr_html_(self) -> str:
        return self.comparison()._repr_html_() + show(ranking_table(self._findings))._repr_html_()

    def __repr__(self) -> str:
        return f"Results({self.name!r}, {plural(len(self.names), 'configuration')} by {self.primary})"

    @cached_property
    def _findings(self) -> Findings:
        return findings(self)

    def _known(self, name: str) -> str:
        known = self.names
        if name in known:
            return name
        if name in self.failures:
            raise InputError(f"the configuration {name} failed: {self.failures[name]}")
        raise InputError(
            f"the run {self.name} has no finished configuration {name!r}{meant(str(name), known)}", f"they are {', '.join(known)}"
        )


def opened(results: object, name: str) -> Results:
    """Return results, or open those in a folder. Raises InputError for anything else."""
    found = load(results) if isinstance(results, str | Path) else results
    require(found, Results, name)
    return cast(Results, found)


@checked_names
def load(path: str | Path) -> Results:
    """Open the results of a finished sweep, `outputs/<name>`, on any machine.

    A relative path is resolved against the working directory, then each of its parents, so it also works in a notebook's folder.

    Raises
    ------
    InputError: the folder contains no run, or one of an older version.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.load("outputs/sizes")
    Results('sizes', 2 configurations by span_recall@2000t)
    """
    if not isinstance(path, str | Path):
        raise InputError(f"the path is of type {type(path).__name__}", "give the folder outputs/<name> of a finished sweep")
    folder = find_upwards(path) or Path(path)
    if not folder.exists() and find_upwards(Path("outputs") / path):
        raise InputError(
            f"{path} does not exist (did you mean '{Path('outputs') / path}'?)", "give the folder outputs/<name> of a finished sweep"
        )
    return Results.read(folder)

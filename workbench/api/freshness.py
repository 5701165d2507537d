"""Check from Python whether a target serves stale data."""

from pathlib import Path

from workbench.api.arguments import require
from workbench.core.errors import RunError
from workbench.llm.session import CallResources
from workbench.systems.base import Target, TargetDownError, TargetResources
from workbench.systems.freshness.cases import FreshnessData, read_freshness
from workbench.systems.freshness.check import FreshnessReport
from workbench.systems.freshness.check import check_freshness as check_target


def check_freshness(target: Target, data: FreshnessData | str | Path) -> FreshnessReport:
    """Let a target ingest, replace and delete documents, and check each time that it serves neither old nor deleted text.

    All documents of `data` are deleted from the target at the end.

    Parameters
    ----------
    target: a target that takes documents.
    data: a folder with `documents`, `earlier` versions and the questions of `stale.jsonl`, or what `read_freshness` made of one.

    Raises
    ------
    InputError: the target takes no documents, or the folder is not such a folder.
    RunError: the target does not start, or breaks down.

    Examples
    --------
    >>> import workbench as wb
    >>> data = wb.read_freshness("experiments/handbook").only(["finance/company-cards"])
    >>> wb.check_freshness(wb.PipelineTarget(name="ours", chunker=wb.FixedChunker(size=128)), data).verdict
    'passed'
    """
    require(target, Target, "target")
    found = data if isinstance(data, FreshnessData) else read_freshness(Path(data))
    try:
        return check_target(target, found, TargetResources(CallResources()))
    except TargetDownError as error:
        raise RunError(f"the target {target.name} failed: {error}", "check that it runs and that its settings fit") from None

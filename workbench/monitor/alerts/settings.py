"""The settings of alerts, and the set of alerts, declared once."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class LimitAlert(NamedTuple):
    """An alert that a mean is worse than its limit.

    `kind` is the form of its values: a `share` of questions that should be small, a `score` within [0, 1] or of any `scale` that should be large,
    or a `tail`: the share of questions above the limit, which should be at most TAIL. `worse` completes "today, …". The `title` is that of its
    card on the page, in the order of `card`; one without a card is not compared with last week. `unit` names the questions with a value.
    """

    name: str
    column: str
    kind: Literal["share", "score", "scale", "tail"]
    about: str
    worse: str
    card: int = 0
    title: str = ""
    unit: str = "known"

    @property
    def in_points(self) -> bool:
        """True for a share, whose differences are percentage points."""
        return self.kind in ("share", "tail")


class OtherAlert(NamedTuple):
    """An alert without a limit: the number or the questions that it is about, and the words that complete "today, …"."""

    about: str
    worse: str


# Of latency and cost: the limit is one of the 95th percentile.
TAIL = 0.05
LIMITS = (
    LimitAlert(
        *("faithfulness", "score", "score", "support of judged answers by their context"),
        *("answers are less supported by their passages", 1, "Support of answers", "judged"),
    ),
    LimitAlert(
        "no_results", "empty", "share", "share of questions without results", "more questions are without results", 2, "Without results"
    ),
    LimitAlert(
        *("similarity", "similarity", "scale", "similarity of the first hit"),
        *("first hits are less similar", 3, "First-hit similarity", "with a score"),
    ),
    LimitAlert("latency", "seconds", "tail", "share of answers slower than {limit:.3g} s", "more answers are slow", 4, "Latency, p95"),
    LimitAlert(
        "cost", "cost", "tail", "share of questions that cost more than {limit:.3g}", "more questions are costly", 7, "Cost of a question"
    ),
    LimitAlert("feedback", "negative", "share", "share of negative feedback", "more feedback is negative", 5, "Negative feedback", "rated"),
    LimitAlert("refusals", "refused", "share", "share of refused questions", "more questions are refused", 6, "Refused"),
    LimitAlert(
        *("lost_results", "lost", "share", "share of known questions that lost their results or their first document"),
        "known questions lost their results or their first document",
    ),
)
# Tests of windows, and alerts without a test.
DRIFTS = {
    "drift": OtherAlert("energy distance of the week's questions from the reference", "people ask about new subjects"),
    "off_topic": OtherAlert("fall of their cosine to the reference's mean", "more questions are off the topics of the reference"),
}
EVENTS = {"vectors": OtherAlert("questions since a change of the embedder", "the embedder is another one")}
ALERTS: Mapping[str, LimitAlert | OtherAlert] = {**{alert.name: alert for alert in LIMITS}, **DRIFTS, **EVENTS}
# The measures of the page by name, in its order.
CARDS = {alert.name: alert for alert in sorted(LIMITS, key=lambda alert: alert.card) if alert.card}
# The versions that decide vectors: a name, or a fingerprint of the vectors of fixed texts.
VECTORS = ("embedder", "vectors")


class AlertLimit(BaseModel):
    """The limit of one alert. Without `limit` it is learned: the bound of the reference period's mean with its estimation error, and the margin."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    active: bool = Field(default=True, description="Whether the alert is raised.")
    limit: float | None = Field(default=None, allow_inf_nan=False, description="The limit. Default: learned from the reference period.")
    margin: float = Field(
        default=0.25, ge=0, le=10, description="The share of a learned limit, or for similarity the deviations, allowed beyond it."
    )


class AlertSettings(BaseModel):
    """Limits and error rates of all alerts."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    false_alarms: float = Field(default=0.05, gt=0, lt=1, description="The probability of any false alarm in 28 days, of the whole set.")
    observations: int = Field(
        default=3000, ge=1, description="About how many conversations an alert sees in 28 days. More delay it a little."
    )
    reference_from: datetime | None = Field(
        default=None,
        description="The start of the reference period, such as 2026-11-01 or 2026-11-01T08:00:00Z, in UTC if it has no zone. Default: that of the log.",
    )
    reference_days: float = Field(
        default=7, gt=0, le=3650, description="The length of the reference period in days. Whole weeks cover the cycles of a week."
    )
    idle_minutes: float = Field(default=30, ge=0, le=1e6, description="The pause after which a conversation is complete.")
    quiet_days: float = Field(
        default=7, ge=0, le=3650, description="Days without new evidence that resolve an alert, which is reopened within them."
    )
    faithfulness: AlertLimit = Field(
        default=AlertLimit(limit=0.8), description="The limit is the least mean support. Default: 0.8 if the judge gives verdicts."
    )
    no_results: AlertLimit = Field(default=AlertLimit(), description="The limit is the largest share of questions.")
    similarity: AlertLimit = Field(default=AlertLimit(), description="The limit is the least mean score of the first hit.")
    latency: AlertLimit = Field(default=AlertLimit(), description="The limit is in seconds. 5 % of answers may take longer.")
    cost: AlertLimit = Field(default=AlertLimit(), description="The limit is in the currency of the log. 5 % of questions may cost more.")
    feedback: AlertLimit = Field(default=AlertLimit(), description="The limit is the largest share of questions with feedback.")
    refusals: AlertLimit = Field(default=AlertLimit(), description="The limit is the largest share of questions.")
    lost_results: AlertLimit = Field(default=AlertLimit(), description="The limit is the largest share of known questions.")
    drift: bool = Field(default=True, description="Whether new subjects of questions are looked for.")
    off_topic: bool = Field(default=True, description="Whether off-topic questions are looked for.")
    vectors: bool = Field(default=True, description="Whether a change of the embedder is looked for.")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for alert in LIMITS:
            limit = self.limit(alert).limit
            if limit is not None and alert.kind in ("share", "score") and not 0 < limit < 1:
                raise ValueError(f"the limit of {alert.name} is {limit:g}, which is not between 0 and 1")
        return self

    def limit(self, alert: LimitAlert) -> AlertLimit:
        """Return the limit of an alert."""
        own: AlertLimit = getattr(self, alert.name)
        return own

    @property
    def level(self) -> float:
        """The probability of a false alarm in 28 days for each alert with a test. Their sum is `false_alarms`, under any dependence."""
        return self.false_alarms / max(1, sum(self.limit(alert).active for alert in LIMITS) + self.drift + self.off_topic)

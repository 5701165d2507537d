"""The builtin metrics as Python expressions: `recall @ 5`, `span_recall @ tokens(2000)`, `margin`."""

from workbench.metrics.names import Metric, UncutMetric

recall = UncutMetric("recall")
precision = UncutMetric("precision")
success = UncutMetric("success")
mrr = UncutMetric("mrr")
ndcg = UncutMetric("ndcg")
map = UncutMetric("map")  # noqa: A001  # the metric's name
recall_cap = UncutMetric("recall_cap")
judged = UncutMetric("judged")
irrelevant = UncutMetric("irrelevant")
hit_recall = UncutMetric("hit_recall")
hit_precision = UncutMetric("hit_precision")
chunk_precision = UncutMetric("chunk_precision")
span_recall = UncutMetric("span_recall")
span_precision = UncutMetric("span_precision")
span_iou = UncutMetric("span_iou")
need_recall = UncutMetric("need_recall")
complete = UncutMetric("complete")
span_precision_omega = Metric("span_precision_omega")
margin = Metric("margin")
margin_spread = Metric("margin_spread")

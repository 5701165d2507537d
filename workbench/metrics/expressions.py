"""The builtin metrics as Python expressions: `recall @ 5`, `span_recall @ tokens(2000)`, `margin`."""

from workbench.metrics.names import Metric

recall = Metric("recall")
precision = Metric("precision")
success = Metric("success")
mrr = Metric("mrr")
ndcg = Metric("ndcg")
map = Metric("map")  # noqa: A001  # the metric's name
recall_cap = Metric("recall_cap")
judged = Metric("judged")
irrelevant = Metric("irrelevant")
hit_recall = Metric("hit_recall")
hit_precision = Metric("hit_precision")
chunk_precision = Metric("chunk_precision")
span_recall = Metric("span_recall")
span_precision = Metric("span_precision")
span_iou = Metric("span_iou")
need_recall = Metric("need_recall")
complete = Metric("complete")
span_precision_omega = Metric("span_precision_omega")
margin = Metric("margin")
margin_spread = Metric("margin_spread")

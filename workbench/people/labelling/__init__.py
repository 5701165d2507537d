"""Labels of people, without a screen: append-only files of actions, pools, the order of questions, agreement, adjudication, the dataset that follows.

`session` is one person's work on a dataset, `answer_labelling` that on a run's claims and answers; the widgets show both. `applying` makes the dataset.
"""

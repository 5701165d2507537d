"""Alerts on a log of questions, with a stated rate of false alarms a month for the whole set.

`settings` declares the alerts and their limits, `signals` turns log rows into numbers, `earlier_questions` compares questions, `detect` finds when an alert was raised and resolved, `state`
remembers alerts between runs, and `channels` and `webhook` send notices. Tests are those of `statistics/sequential`.
"""

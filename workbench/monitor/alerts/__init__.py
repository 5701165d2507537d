"""Alerts on a log of questions, with a stated rate of false alarms a month for the whole set.

`settings` declares the alerts and their limits, `signals` turns log rows into numbers and compares questions with earlier ones, `detect` finds when an alert was raised and resolved, `state`
remembers alerts between runs, and `channels` sends notices. Tests are those of `statistics/sequential`.
"""

"""Values computed from the tables of a run, without words: standings, verdict, pairs, parts, costs, causes, answers.

It imports nothing of `report`. `gate`, `api` and `labelling` import its functions, and each topic of the report computes with them.
"""

"""All steps in one command: a simulated world is mined, rated, scored and judged.

`steps` lists the commands that a user would type; `runner` runs them, from where an earlier attempt stopped; `results`
reads what came out and puts it into words; `page` shows it.
"""

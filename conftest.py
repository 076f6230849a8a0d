"""What plain `pytest` and `make test` leave out: these need torch and Jupyter, which are large.

`make test-integrations` installs them and names these files, and what is named is run.
"""

collect_ignore = [
    "tests/integrations",
    "src/trubleu/integrations/torch.py",
]

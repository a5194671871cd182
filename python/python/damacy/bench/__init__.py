"""The benchmark, as a command: ``python -m damacy.bench default`` (``--help`` has the rest).

It is the same as ``damacy bench``, without a separate program; ``docs/bench.md`` explains scenarios and results.
"""

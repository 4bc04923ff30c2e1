"""Forkpoint beside LangGraph's stock savers, in one run, as ratios.

Real graphs with scripted nodes are run once on a recording saver (`workloads/`). The calls they
made are then replayed on every saver (`replay.py`), each in the version format that it would have
minted itself, and everything a user waits for is timed: supersteps, reads, histories, forks,
filters, many writers. Savers take turns within every round, so that a slow minute of the machine
hits them all; what is reported is the median over rounds. SQLite and PostgreSQL take their turns in
the same run, each with LangGraph's saver for it beside ours.

Nothing here asserts a time. A machine is judged against itself: ours against the stock saver, and
against what the database alone needs for the same bytes and the same commits.

    python -m benchmarks                  # everything, a quarter of an hour
    python -m benchmarks --on postgres    # one database
    python -m benchmarks --quick          # small sizes, to see that it runs
"""

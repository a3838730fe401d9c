"""Print the table of games that stands in the README: one line and one measured number each.

Run it from the repository: `.venv/bin/python examples/games_table.py`. The last column is random
play, in decisions a second on one thread of this machine, and its ratio to OpenSpiel driven from
Python in the same run.
"""

from kibitz.bench import alternating_speeds
from kibitz.games import load, names, summary


def main() -> None:
    print("| game | what it is | plies/s, one thread | times OpenSpiel |")
    print("|---|---|---|---|")
    for name in names():
        one, _, rival = alternating_speeds(load(name))
        ratio = f"{one / rival:.0f}" if rival else "-"
        print(f"| `{name}` | {summary(name)} | {one / 1e6:.0f} million | {ratio} |")


if __name__ == "__main__":
    main()

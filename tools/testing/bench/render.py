#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""render.py DIR: DIR/results.json as a table on stdout and as DIR/bench.{md,csv,svg}. Status 1: a target was missed."""
import json
import os
import sys

from plot import svg
from table import METHOD, csv, markdown, reached, rows, text


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "results.json"), encoding="ascii") as f:
        results = json.load(f)
    with open(os.path.join(folder, "cost.json"), encoding="ascii") as f:
        results["cost"] = json.load(f)
    table = rows(results)
    for name, content in (("bench.md", markdown(table)), ("bench.csv", csv(table)), ("bench.svg", svg(table))):
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(content)
    print(METHOD, text(table), sep="\n\n")
    print(f"written: {folder}/bench.md, bench.csv, bench.svg")
    sys.exit(0 if all(map(reached, table)) else 1)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""DuckDB's side: answers one question in SQL over a dataset of Lull's, a JSON object per row.

Usage: ask_duckdb.py DATASET SQL
"""

import json
import pathlib
import sys

import duckdb


def main() -> None:
    dataset, sql = pathlib.Path(sys.argv[1]), sys.argv[2]
    tables = json.loads((dataset / "lull-dataset.json").read_text(encoding="utf-8"))["tables"]
    session = duckdb.connect()
    for table in tables:
        if table["name"] in sql:
            files = f"{dataset}/{table['folder']}/**/*.parquet"
            session.sql(
                f'CREATE VIEW "{table["name"]}" AS SELECT * FROM'
                f" read_parquet('{files}', hive_partitioning = true)"
            )
    answer = session.sql(sql)
    for row in answer.fetchall():
        print(json.dumps(dict(zip(answer.columns, row, strict=True)), default=str))


main()

# SPDX-License-Identifier: MIT
"""Events as lines that grep and awk can take apart: PID NAME FIELD=VALUE ...

Reads what `lull print --json` writes. Blanks in a value become underscores.
"""

import json
import sys


def shown(value):
    if isinstance(value, dict) and value.keys() == {"label", "value"}:
        value = value["label"] or value["value"]
    return "_".join(str(value).split())


for line in sys.stdin:
    event = json.loads(line)
    if "lost" in event:
        sys.exit(f"events were lost: {line}")
    fields = [f"{name}={shown(value)}" for name, value in event["fields"].items()]
    print(event.get("thread", {}).get("pid", 0), event["name"], *fields)

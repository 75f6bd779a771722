"""Makes the excerpts: python excerpt.py TRACE_FOLDER THERE > torch-2.13.log, of a trace of train.py with TORCH_TRACE.

Kept are the records that are read, each in torch's own form; metrics to the two that are told of, payloads to what stands
before torch's own stack; train.py is said to lie in /elsewhere, torch in /opt/env. Each payload has its own MD5 again.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

ARTIFACTS = ("dynamo_graph_break_reason", "dynamo_error", "recompile_reasons", "torch_version")
METRICS = ("compile_id", "graph_op_count", "pytorch_version", "python_version")


def renamed(text: str) -> str:
    text = text.replace(str(Path(__file__).parent), "/elsewhere")
    return re.sub(r'[^" ]*/site-packages/', "/opt/env/lib/python3.11/site-packages/", text)


def payload_of(name: str, lines: list[str]) -> str:
    payload = renamed("\n".join(lines))
    if name == "dynamo_graph_break_reason":
        head, found, _ = payload.partition("\nTraceback (most recent call last):\n")
        return f"{head}{found}  ...\n"
    if name == "dynamo_error":
        start = payload.index("torch._dynamo.exc.")
        return "Traceback (most recent call last):\n  ...\n" + payload[start:]
    return payload


def main(folder: str) -> None:
    (path,) = Path(folder).iterdir()
    for record in re.split(r"^(?=[VIWEC]\d{4} )", path.read_text(), flags=re.MULTILINE):
        header, *rest = record.split("\n")
        match = re.match(r"^(.*?\] )(\{.*)$", header)
        if match is None:
            continue
        said = json.loads(match[2])
        name = said.get("artifact", {}).get("name", "")
        if "compilation_metrics" in said:
            said["compilation_metrics"] = {key: said["compilation_metrics"].get(key) for key in METRICS}
            said.pop("stack", None)
        elif "dynamo_output_graph" in said:
            said["dynamo_output_graph"] = {}
        elif not (name in ARTIFACTS or "str" in said or "dynamo_start" in said):
            continue
        lines = [line.removeprefix("\t") for line in rest if line.startswith("\t")]
        payload = "the graph" if "dynamo_output_graph" in said else payload_of(name, lines) if lines else None
        if payload is not None:
            said["has_payload"] = hashlib.md5(payload.encode(), usedforsecurity=False).hexdigest()
        print(match[1] + renamed(json.dumps(said)))
        if payload is not None:
            print("\n".join("\t" + line for line in payload.split("\n")))


if __name__ == "__main__":
    main(sys.argv[1])

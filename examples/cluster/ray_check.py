"""Checks a whole tree with Ray: one shard of its entries a task, merged into one report.

    ray job submit --working-dir . -- python examples/cluster/ray_check.py src/
    python examples/cluster/ray_check.py --shards 16 --address auto src/ --device cpu

Without --address a local cluster is started. Words that this script does not know go to ``graphmend-lsp check``. Every
node needs graphmend-lsp, torch and the tree at the same path (or a working directory that Ray carries to it).
The exit status is that of the check: 0 no breaks, 1 breaks, 2 errors; a shard whose task was lost is an error.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import ray

GRAPHMEND = [sys.executable, "-m", "graphmend_lsp"]


@ray.remote(max_retries=2)
def check_shard(number: int, count: int, words: list[str]) -> tuple[str, str, int]:
    """One shard's record, what it said meanwhile, and its exit status."""
    command = [*GRAPHMEND, "check", *words, "--shard", f"{number}/{count}", "--jobs", "1", "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout, done.stderr, done.returncode


def main() -> int:
    """Run the shards and print the merged report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="of the cluster, or auto")
    parser.add_argument("--shards", type=int, help="how many tasks (default: two for each pair of the cluster's cores)")
    parser.add_argument("--cpus", type=float, default=2, help="cores that one task takes (default 2)")
    parser.add_argument("--format", default="text", help="of the report: text, json, sarif or github")
    arguments, words = parser.parse_known_args()

    ray.init(address=arguments.address, include_dashboard=False, log_to_driver=False, logging_level="warning")
    cores = ray.cluster_resources().get("CPU", 1)
    count = arguments.shards or max(1, int(cores // arguments.cpus) * 2)
    task = check_shard.options(num_cpus=min(arguments.cpus, cores))
    waiting = {task.remote(number, count, words): number for number in range(1, count + 1)}
    with tempfile.TemporaryDirectory() as folder:
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            number = waiting.pop(done)
            try:
                record, said, status = ray.get(done)
            except ray.exceptions.RayError as error:
                record, said, status = "", str(error), 2
            print(f"shard {number}/{count}: exit status {status}", file=sys.stderr)
            if record:
                Path(folder, f"{number}.json").write_text(record)
            else:
                print(said, file=sys.stderr)
        ray.shutdown()
        records = sorted(map(str, Path(folder).iterdir()))
        if not records:
            return 2
        return subprocess.run([*GRAPHMEND, "merge", *records, "--format", arguments.format]).returncode


if __name__ == "__main__":
    sys.exit(main())

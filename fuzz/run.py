#!/usr/bin/env python3
"""Fuzzes every reader, guided by coverage, until each has had so many seconds of CPU time.

    cargo install cargo-fuzz && cargo +nightly fuzz build -s none       (in fuzz/)
    python3 fuzz/run.py --seconds 600

The targets run in slices, the one with the least time first, so that an early end leaves all of them with their share; the CPU time of
a target (user and system, of the process itself) is added up in `target/times/TARGET.json`, so that an interrupted run goes on, and two
runs of different targets can go side by side. What is found new goes into `target/corpus`, not into the corpora of the repository. An input that panics, takes more than `--timeout` seconds or more than `--memory` MB is kept in `artifacts`; the
reader then goes on with the others, and the exit code is 1.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# The formats with the most structure first.
TARGETS = ["parquet", "npz", "npy", "csv", "model", "libsvm", "jsonl", "gzip", "spec"]


def program(name):
    found = sorted(HERE.glob(f"target/*/release/{name}"))
    if not found:
        sys.exit(f"fuzz/target has no {name}: build the targets first, by `cargo +nightly fuzz build -s none` in fuzz/")
    return found[0]


def run(name, args):
    """A slice: CPU seconds, inputs tried, and the files of what was found."""
    fresh, artifacts = HERE / "target" / "corpus" / name, HERE / "artifacts" / name
    fresh.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(parents=True, exist_ok=True)
    before = set(artifacts.iterdir())
    command = [program(name), fresh, HERE / "corpus" / name, f"-artifact_prefix={artifacts}/", f"-timeout={args.timeout}", f"-report_slow_units={args.timeout}",
               f"-rss_limit_mb={args.memory}", f"-max_total_time={args.slice}", f"-max_len={args.longest}", "-print_final_stats=1"]
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    told = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    tried = re.search(r"stat::number_of_executed_units:\s*(\d+)", told) or re.search(r"#(\d+)\s[^#]*$", told)
    found = sorted(set(artifacts.iterdir()) - before)
    if status and not found:
        sys.exit(f"{name} ended with {status}:\n{told[-2000:]}")
    return used.ru_utime + used.ru_stime, int(tried[1]) if tried else 0, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600, help="CPU seconds for each target")
    parser.add_argument("--slice", type=int, default=60, help="seconds on the clock of one run")
    parser.add_argument("--timeout", type=int, default=20, help="seconds for one input")
    parser.add_argument("--memory", type=int, default=1024, help="MB for one input")
    parser.add_argument("--longest", type=int, default=16384, help="bytes of an input")
    parser.add_argument("targets", nargs="*", default=TARGETS)
    args = parser.parse_args()
    kept = HERE / "target" / "times"
    kept.mkdir(parents=True, exist_ok=True)
    files = {name: kept / f"{name}.json" for name in args.targets}
    none = '{"cpu_seconds": 0.0, "inputs": 0, "found": []}'
    times = {name: json.loads(file.read_text() if file.exists() else none) for name, file in files.items()}
    while waiting := [name for name in args.targets if times[name]["cpu_seconds"] < args.seconds]:
        name = min(waiting, key=lambda name: times[name]["cpu_seconds"])
        of = times[name]
        seconds, tried, found = run(name, args)
        of["cpu_seconds"] += seconds
        of["inputs"] += tried
        of["found"] += [str(path.relative_to(HERE)) for path in found]
        files[name].write_text(json.dumps(of, indent=1))
        for path in found:
            print(f"{name}: {path}", flush=True)
    for name, of in times.items():
        print(f"{name}: {of['cpu_seconds']:.0f} CPU seconds, {of['inputs']} inputs, {len(of['found'])} found", flush=True)
    return int(any(times[name]["found"] for name in args.targets))


if __name__ == "__main__":
    sys.exit(main())

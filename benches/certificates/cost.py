"""What certificates cost: two versions of the program on the same problems.

    cost.py BEFORE [AFTER] [--rounds 5] [--only SUBSTRING] [--instructions]

BEFORE and AFTER are drivers (`cargo build --release -p bench-driver` in a clone of each version); AFTER is that of this clone,
which is built first, unless given. The runs of the two alternate, on one thread; a row has the least CPU time of a fit of all
rounds of either, and their ratio. `--instructions` counts instructions by `valgrind --tool=callgrind` instead, which no load of the machine
disturbs. The problems: the reference problems (Lip^D and Lip^I on seven data sets, with a slack per pair at c = 1 and with a
slack per row at a tenth of c_max), and NCA, MCML, LMNN and LMML on some of these sets and on made-up classes.
"""
import argparse
import math
import pathlib
import re
import resource
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import ONE_THREAD, PROGRAM, ROOT, build, sets  # noqa: E402

FOLDER = ROOT / "crates" / "lipmetric" / "tests" / "data" / "lip"
# CPU seconds that the fits of a run take together, about: what the system tells of single fits is too coarse.
LONG_ENOUGH = 1.0


def problems():
    """Name of the group, of the problem, and the driver's arguments."""
    for path in sets(FOLDER):
        for variant in ("lip-d", "lip-i"):
            # With a slack per row c = 1 is above c_max of some.
            for slack, group, c in (("pair", "a slack per pair", "c=1"), ("instance", "a slack per row", "c_rel=0.1")):
                yield f"Lip, {group}", f"{path.stem} {variant}", [path, variant, f"slack={slack}", c]
    for method, options in (("nca", []), ("mcml", []), ("lmnn", ["tol=1e-2"]), ("lmml", ["tol=1e-4"])):
        for name in ("cancer", "diabetes", "voting"):
            yield method, name, [FOLDER / f"{name}.csv", method, "scale=standard", *options]
        yield method, "1000 x 20 x 3", ["synthetic:1000x20x3", method, "scale=standard", *options]


def run(program, args, repeats, around=()):
    command = [*around, program, "fit", *args, f"repeats={repeats}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=ONE_THREAD, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stderr, sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))


def milliseconds(program, args, repeats):
    """Of a fit, with its share of starting the program and reading the rows."""
    return 1e3 * run(program, args, repeats)[1] / repeats


def instructions(program, args, _):
    """Millions, of a second fit: what the program does around it is the same in both runs."""
    around = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    counts = [int(re.search(r"Collected : (\d+)", run(program, args, repeats, around)[0]).group(1)) for repeats in (1, 2)]
    return (counts[1] - counts[0]) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="problems whose group and name contain this")
    parser.add_argument("--instructions", action="store_true")
    args = parser.parse_args()
    if args.after is None:
        build()
    programs = [pathlib.Path(args.before).resolve(), pathlib.Path(args.after or PROGRAM).resolve()]
    figure, rounds = (instructions, 1) if args.instructions else (milliseconds, args.rounds)
    unit = "million instructions" if args.instructions else "CPU ms"
    print(f"| problem | before, {unit} | after, {unit} | ratio |\n|---|---:|---:|---:|")
    ratios = {}
    for group, name, problem in problems():
        if args.only not in f"{group} {name}":
            continue
        words = [str(word) for word in problem]
        repeats = 1 if args.instructions else math.ceil(LONG_ENOUGH / run(programs[0], words, 1)[1])
        least = [math.inf, math.inf]
        for _ in range(rounds):
            for k, program in enumerate(programs):
                least[k] = min(least[k], figure(program, words, repeats))
        ratio = least[1] / least[0]
        ratios.setdefault(group, []).append(ratio)
        print(f"| {group}: {name} | {least[0]:.4g} | {least[1]:.4g} | {ratio:.2f} |", flush=True)
    for group, found in ratios.items():
        mean = math.exp(sum(map(math.log, found)) / len(found))
        print(f"| **{group}** | | | {min(found):.2f} to {max(found):.2f}, mean {mean:.3f} |")


if __name__ == "__main__":
    main()

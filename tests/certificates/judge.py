#!/usr/bin/env python3
"""Fits generated ill-conditioned tables and judges every printed figure in rational arithmetic.

    LIPMETRIC=target/debug/lipmetric python3 tests/certificates/judge.py --count 200

Needs the standard library alone. What is judged, for each fit: the printed objective is that of the stored L on the stored rows;
the printed bound is not above it and, for the exact solver (and any solver of a slack per row), is proved by the stored
multipliers, for all metrics but those that measure the last digits of cells; where there are no stored multipliers, no metric
that is found by changing L, or by the exact solver, is below the bound; `optimal` is said only where objective and bound are as
close as the tolerance asks. Tables have two or three classes; methods are Lip^D and Lip^I by every solver, with an anchor or a
limit on the rank, and LMNN, LMML, MCML, NCA and lip-local. A false one is printed with what it takes to run it alone:

    judge.py --seed 1 --only 17 --keep folder

Exit code 1 if anything is false.
"""

import argparse
import collections
import concurrent.futures
import decimal
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction as Q

LIPMETRIC = str(pathlib.Path(os.environ.get("LIPMETRIC", "target/debug/lipmetric")).resolve())

# A printed objective may be off by this part: what sums in floating point lose.
NEAR = Q(1, 10**9)
# An objective of less than this part of that of the zero metric is zero but for rounding.
NOTHING = Q(1, 10**24)
# Rows of different label, or columns, further apart than this part of the range are expected to be solved.
RESOLVED = 1e-12
RESOLVED_ONLY = ", above 1e-12"
CERTIFIED = 1e-6
# Coordinates of a row are known up to this part of the products that they are the sums of: what a cell's last digits are.
LAST_DIGITS = Q(4, 10**14)
SECONDS = 60


# ---------------------------------------------------------------------------------------------------------- tables


def near_rows(rng, n, p, classes):
    """Rows of different label nearly equal, and a row far out, by up to the same factor."""
    apart = 10 ** -rng.uniform(3, 16)
    rows = [[rng.gauss(0, 1) for _ in range(p)] for _ in range(n)]
    labels = [i % classes for i in range(n)]
    for k in range(rng.randint(1, max(1, n // 4))):
        rows[2 * k + 1] = [v + apart * rng.gauss(0, 1) for v in rows[2 * k]]
    if rng.random() < 0.7:
        far = apart ** -rng.uniform(0, 1)
        rows[-1] = [v * far for v in rows[-1]]
    return rows, labels, 1.0


def dependent_columns(rng, n, p, classes):
    """Columns that are nearly multiples of the first."""
    p = max(p, 2)
    apart = 10 ** -rng.uniform(3, 16)
    factors = [10 ** rng.uniform(-3, 3) for _ in range(p)]
    rows = []
    for _ in range(n):
        first = rng.gauss(0, 1)
        rows.append([first] + [f * (first + apart * rng.gauss(0, 1)) for f in factors[1:]])
    return rows, [rng.randrange(classes) for _ in range(n)], apart


def decades(rng, n, p, classes):
    """Cells of any size."""
    cell = lambda: rng.choice([-1, 1]) * 10 ** rng.uniform(-16, 16)
    return [[cell() for _ in range(p)] for _ in range(n)], [rng.randrange(classes) for _ in range(n)], 1.0


def table(rng):
    n, p = rng.randint(4, 10), rng.randint(1, 3)
    kind = rng.choice([near_rows, near_rows, dependent_columns, decades])
    classes = rng.choice([2, 2, 3])
    rows, labels, apart = kind(rng, n, p, classes)
    labels[:4] = [0, 1, 0, 1]
    return rows, labels, apart, kind.__name__.replace("_", " ")


def options(rng, p):
    scale = rng.choice(["none", "minmax", "standard"])
    if rng.random() < 0.2:
        return rival_options(rng, scale)
    slack = rng.choice(["pair", "instance"])
    diameter = rng.choice(["max", "max", "mean", "cvar:0.2"])
    solver = "exact"
    if diameter == "max":
        solver = rng.choice(["exact", "augmented", "admm", "paper"] if slack == "pair" else ["exact", "exact", "augmented", "admm"])
    asked = {
        "--method": rng.choice(["lip-d", "lip-i"]),
        "--slack": slack,
        "--diameter": diameter,
        "--solver": solver,
        "--c-rel": repr(10 ** rng.uniform(-10, -0.0458)),
        "--scale": scale,
    }
    if solver == "exact" and rng.random() < 0.1:
        asked["--anchor"] = rng.choice(["euclid", "within"])
    if solver in ("augmented", "admm") and p > 1 and rng.random() < 0.3:
        asked["--rank"] = "1"
    return asked


def rival_options(rng, scale):
    asked = {"--method": rng.choice(["lmnn", "lmnn", "lmml", "lmml", "mcml", "nca", "lip-local"]), "--scale": scale}
    if asked["--method"] == "lmnn":
        asked["--targets"] = str(rng.randint(1, 3))
        asked["--slack"] = rng.choice(["pair", "instance"])
        asked["--push"] = repr(rng.choice([0.5, 0.9, 0.99]))
    if asked["--method"] == "lmml":
        asked["--alpha"] = repr(10 ** rng.uniform(-3, 3))
    if asked["--method"] != "lip-local" and rng.random() < 0.2:
        asked["--n-components"] = "1"
    return asked


# ------------------------------------------------------------------------------------------------------ the program


def keeps_multipliers(asked):
    """Whether the multipliers of the bound are stored with the model."""
    if "--solver" not in asked or "--anchor" in asked:
        return False
    return asked["--solver"] == "exact" or asked["--slack"] == "instance"


def run(folder, asked, name="m.lip"):
    """Exit code, printed figures (or None) and what was said on standard error."""
    args = [LIPMETRIC, "fit", "rows.csv", "--json", "--threads", "1", "--time-limit", str(SECONDS // 2), "--model", name]
    if keeps_multipliers(asked):
        args.append("--certificate")
    args += [word for option in asked.items() for word in option]
    try:
        out = subprocess.run(args, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None, None, "timed out"
    report = json.loads(out.stdout) if out.stdout.strip() else None
    return out.returncode, report, out.stderr.strip()


def read_model(path):
    """The tensors of a model file, as lists of lists of rationals, and its description."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    model = json.loads(header.pop("__metadata__")["lipmetric"])["model"]
    tensors = {}
    for name, what in header.items():
        begin, end = what["data_offsets"]
        raw = data[8 + length + begin : 8 + length + end]
        letter = {"F64": "d", "U32": "I"}[what["dtype"]]
        values = struct.unpack("<%d%s" % (len(raw) // struct.calcsize(letter), letter), raw)
        values = [Q(v) for v in values] if letter == "d" else list(values)
        shape = what["shape"]
        if len(shape) == 2:
            values = [values[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]
        tensors[name] = values
    return tensors, model


# --------------------------------------------------------------------------------------------------- in rationals


class Problem:
    """Rows, labels, weights and the form of the problem."""

    def __init__(self, tensors, asked, c):
        self.x, self.y = tensors["train.x"], tensors["train.y"]
        n = len(self.x)
        self.weight = tensors.get("certificate.weights") or [Q(1)] * n
        self.intra = asked["--method"] == "lip-i"
        self.per_row = asked["--slack"] == "instance"
        self.c = Q(c)
        name, _, level = asked["--diameter"].partition(":")
        self.level = {"max": None, "mean": Q(1)}.get(name, Q(float(level or 1)))
        self.pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        self.bounding = [(i, j) for i, j in self.pairs if not self.intra or self.y[i] == self.y[j]]
        self.pushing = [(i, j) for i, j in self.pairs if self.y[i] != self.y[j]]
        self.total = sum(self.w(q) for q in self.bounding)

    def w(self, pair):
        return self.weight[pair[0]] * self.weight[pair[1]]

    def difference(self, pair):
        return [a - b for a, b in zip(self.x[pair[0]], self.x[pair[1]])]

    def rho(self, factor):
        """The squared distances of all pairs."""
        out = {}
        for pair in self.pairs:
            d = self.difference(pair)
            out[pair] = sum((sum(l * v for l, v in zip(row, d)) ** 2 for row in factor), Q(0))
        return out

    def objective(self, factor, slack=None):
        """F of a metric. With a slack per row it is that of given slacks, raised where they are not feasible, or else the least."""
        rho = self.rho(factor)
        if self.level is None:
            diameter = max(rho[q] for q in self.bounding)
        else:
            left, taken = self.level * self.total, Q(0)
            for pair in sorted(self.bounding, key=lambda q: rho[q], reverse=True):
                part = min(self.w(pair), left)
                taken += part * rho[pair]
                left -= part
            diameter = taken / (self.level * self.total)
        if not self.per_row:
            return self.c * diameter + sum(self.w(q) * max(Q(0), 2 - rho[q]) for q in self.pushing)
        if slack is None:
            return self.c * diameter + self.least_loss(rho)
        raised = list(slack)
        for i, j in self.pushing:
            missing = 2 - rho[i, j] - slack[i] - slack[j]
            for k in (i, j):
                raised[k] = max(raised[k], slack[k] + missing / 2)
        return self.c * diameter + sum(w * s for w, s in zip(self.weight, raised))

    def least_loss(self, rho):
        """The least sum of slacks. By duality it is the heaviest matching of the rows by what is missing to the margins; a pair may
        also count half, so that it is half of a matching between two copies of the rows. With two classes one copy does."""
        assert set(self.weight) == {1}
        missing = {pair: 2 - rho[pair] for pair in self.pushing if rho[pair] < 2}
        if len(set(self.y)) == 2:
            few, many = sorted(([i for i, y in enumerate(self.y) if y == k] for k in (0, 1)), key=len)
            return heaviest_matching(few, many, missing)
        everyone = range(len(self.y))
        return heaviest_matching(everyone, everyone, missing) / 2


def heaviest_matching(left, right, missing):
    best = {0: Q(0)}
    for j in right:
        after = dict(best)
        for taken, sum_so_far in best.items():
            for k, i in enumerate(left):
                weight = missing.get((min(i, j), max(i, j)))
                if weight is not None and not taken >> k & 1:
                    key = taken | 1 << k
                    after[key] = max(after.get(key, Q(0)), sum_so_far + weight)
        best = after
    return max(best.values())


class Rival:
    """The problem of LMNN, LMML, MCML or NCA."""

    def __init__(self, tensors, asked):
        self.x, self.y, self.asked = tensors["train.x"], tensors["train.y"], asked
        self.method = asked["--method"]
        n = len(self.x)
        self.targets, self.unclear = {}, False
        count = int(asked.get("--targets", 1))
        for i in range(n):
            same = sorted((self.squared(i, j), j) for j in range(n) if j != i and self.y[j] == self.y[i])
            self.targets[i] = [j for _, j in same[:count]]
            # Rounding may decide which of two rows about as far counts as the nearer.
            if len(same) > count and same[count][0] <= same[count - 1][0] * (1 + NEAR):
                self.unclear = True
        self.unclear = self.unclear and self.method in ("lmnn", "lmml")

    def squared(self, i, j):
        return sum((a - b) ** 2 for a, b in zip(self.x[i], self.x[j]))

    def rho(self, factor):
        n = len(self.x)
        out = {}
        for i in range(n):
            for j in range(i):
                d = [a - b for a, b in zip(self.x[i], self.x[j])]
                out[i, j] = out[j, i] = sum((sum(l * v for l, v in zip(row, d)) ** 2 for row in factor), Q(0))
        return out

    def objective(self, factor):
        rho, n = self.rho(factor), len(self.x)
        if self.method in ("mcml", "nca"):
            return self.softmax(rho)
        pull = sum((rho[i, j] for i in range(n) for j in self.targets[i]), Q(0))
        each, worst = Q(0), Q(0)
        for i in range(n):
            hinges = [
                max(Q(0), 1 + rho[i, j] - rho[i, l]) for j in self.targets[i] for l in range(n) if self.y[l] != self.y[i]
            ]
            each += sum(hinges)
            worst += max(hinges, default=Q(0))
        if self.method == "lmml":
            gram = [[sum(a * b for a, b in zip(u, v)) for u in factor] for v in factor]
            return sum(g * g for row in gram for g in row) + Q(float(self.asked["--alpha"])) * worst
        push = Q(float(self.asked["--push"]))
        return (1 - push) * pull + push * (each if self.asked["--slack"] == "pair" else worst)

    def softmax(self, rho):
        """With sixty digits: exponentials are not rational."""
        n, total = len(self.x), Q(0)
        with decimal.localcontext() as context:
            context.prec = 60
            for i in range(n):
                others = [j for j in range(n) if j != i]
                same = [j for j in others if self.y[j] == self.y[i]]
                least = min(rho[i, j] for j in others)
                apart = {j: rho[i, j] - least for j in others}
                digits = lambda q: decimal.Decimal(q.numerator) / decimal.Decimal(q.denominator)
                mass = {j: (-digits(a)).exp() if a < 10**6 else decimal.Decimal(0) for j, a in apart.items()}
                whole = sum(mass.values())
                if self.method == "nca":
                    total += Q(sum((mass[j] for j in others if j not in same), decimal.Decimal(0)) / whole)
                elif same:
                    total += Q((whole / len(same)).ln()) + sum(apart[j] for j in same) / len(same)
        return total


def changed(rng, factor):
    """Factors like this one: longer or shorter, some directions more than others, one direction alone."""
    for k in range(10):
        size = 10 ** rng.uniform(-9, -0.3)
        if k % 2:
            by = Q(1 + rng.choice([-1, 1]) * size)
            yield [[by * v for v in row] for row in factor]
        else:
            yield [[v * Q(1 + size * rng.gauss(0, 1)) for v in row] for row in factor]
    for row in factor if len(factor) > 1 else []:
        yield [row]


def below(rng, value, factor, bound):
    """In words, a metric whose objective is below the bound."""
    least = min((value(other) for other in changed(rng, factor)), default=None)
    if least is not None and least < Q(bound):
        return [f"false bound: {bound!r} printed, a metric like L has {float(least)!r}"]
    return []


def semidefinite(matrix):
    """Whether a symmetric matrix of rationals is positive semidefinite."""
    rest = [row[:] for row in matrix]
    while rest:
        n = len(rest)
        k = max(range(n), key=lambda i: rest[i][i])
        if min(rest[i][i] for i in range(n)) < 0:
            return False
        if rest[k][k] == 0:
            return all(v == 0 for row in rest for v in row)
        keep = [i for i in range(n) if i != k]
        rest = [[rest[i][j] - rest[i][k] * rest[k][j] / rest[k][k] for j in keep] for i in keep]
    return True


def rank(rows):
    """The rank of a matrix of rationals."""
    rest, found = [row[:] for row in rows], 0
    for k in range(len(rest[0])):
        pivot = next((row for row in rest if row[k]), None)
        if pivot is not None:
            rest = [[a - row[k] / pivot[k] * b for a, b in zip(row, pivot)] for row in rest if row is not pivot]
            found += 1
    return found


def leaves_out(problem, basis):
    """Whether rows that differ are equal in the basis: the bound is then one of fewer than all metrics."""
    rows = [problem.difference((i, 0)) for i in range(1, len(problem.x))]
    mapped = [[sum(b * v for b, v in zip(coordinate, row)) for coordinate in basis] for row in rows]
    return rank(rows) > rank(mapped)


def off_basis(problem, factor):
    """The least objective found among metrics that look at what the longest differences do not show: with two or three features,
    at the direction perpendicular to the longest, or to the two longest that are not parallel. None where rows differ there by
    the last digits of their cells alone."""
    longest = sorted((problem.difference(q) for q in problem.pairs), key=lambda d: sum(v * v for v in d), reverse=True)
    a = longest[0]
    if len(a) == 2:
        normal = [-a[1], a[0]]
    else:
        crossed = ([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]] for b in longest[1:])
        normal = next(filter(any, crossed))
    along = [[n * v for n, v in zip(normal, row)] for row in problem.x]
    known = [(sum(terms), LAST_DIGITS * sum(map(abs, terms))) for terms in along]
    if max(at - off for at, off in known) <= min(at + off for at, off in known):
        return None
    seen = {sum(n * v for n, v in zip(normal, problem.difference(q))) ** 2 for q in problem.pushing} - {0}
    lengths = [Q(float(2 / s) ** 0.5) for s in seen if float(2 / s) < 1e300]
    return min((problem.objective(kept + [[l * n for n in normal]]) for kept in (factor, []) for l in lengths), default=None)


def proved(problem, tensors, model):
    """The bound that the stored multipliers prove; a string says why they prove none."""
    shared = {name: Q(value) for name, value in model["certificate"].items()}
    if min(shared[name] for name in ("mean", "below", "beyond")) < 0:
        return "a shared multiplier is negative"
    push, pull = {}, {}
    for (i, j, pushes), m in zip(tensors["certificate.pairs"], tensors["certificate.multipliers"]):
        side, allowed = (push, problem.pushing) if pushes else (pull, problem.bounding)
        pair = (min(i, j), max(i, j))
        if m < 0 or pair not in allowed:
            return f"pair {pair} cannot have the multiplier {float(m)}"
        side[pair] = side.get(pair, 0) + m
    rho = problem.rho(tensors["certificate.sides"])
    for pair in problem.pushing:
        if pair not in push:
            push[pair] = shared["below"] * problem.w(pair) if rho[pair] < 2 else Q(0)
    for pair in problem.bounding:
        if pair not in pull:
            pull[pair] = shared["beyond"] * problem.w(pair) if rho[pair] > shared["edge"] else Q(0)
        pull[pair] += shared["mean"] * problem.w(pair) / problem.total
    if problem.per_row:
        for i, w in enumerate(problem.weight):
            if sum(m for pair, m in push.items() if i in pair) > w:
                return f"the multipliers of row {i} are more than its weight"
    elif any(m > problem.w(pair) for pair, m in push.items()):
        return "a multiplier is above its cap"
    if sum(pull.values()) > problem.c:
        return f"the multipliers of the diameter are {float(sum(pull.values()))!r}, more than c"
    if problem.level is not None:
        if any(m * problem.level * problem.total > problem.c * problem.w(pair) for pair, m in pull.items()):
            return "a pair has more than its share of c"
    basis = tensors.get("certificate.basis")
    side = len(basis) if basis else len(problem.x[0])
    total = [[Q(0)] * side for _ in range(side)]
    for sign, multipliers in ((1, pull), (-1, push)):
        for pair, m in multipliers.items():
            if m:
                d = problem.difference(pair)
                if basis:
                    d = [sum(b * v for b, v in zip(row, d)) for row in basis]
                for a in range(side):
                    for b in range(side):
                        total[a][b] += sign * m * d[a] * d[b]
    if not semidefinite(total):
        return "sum eta A - sum lambda A is not positive semidefinite"
    return 2 * sum(push.values())


# ------------------------------------------------------------------------------------------------------- one fit


def least_apart(x, y):
    """The least difference of rows of different label that are not equal, in units of the columns' ranges."""
    columns = [list(column) for column in zip(*x)]
    ranges = [max(column) - min(column) for column in columns]
    apart = []
    for i in range(len(x)):
        for j in range(i):
            if y[i] != y[j] and x[i] != x[j]:
                apart.append(max(abs(a - b) / r for a, b, r in zip(x[i], x[j], ranges) if r))
    return min(apart, default=Q(1))


def judge(folder, asked, apart, kind, rng):
    """Counts and, if something is false, in which words."""
    code, report, said = run(folder, asked)
    if report is None:
        ended = {None: "timed out", 1: "failed, and said why", 2: "refused", 3: "refused"}.get(code, "failed")
        return [ended], [f"exit code {code}: {said}"] if ended == "failed" else []
    tensors, model = read_model(folder / "m.lip")
    counts, false = [f"status {report['status']}"], []
    if "--solver" not in asked:
        of_method = judge_rival
    elif "--anchor" in asked:
        of_method = judge_anchored
    else:
        of_method = judge_lip
    found, wrong = of_method(folder, asked, (report, tensors, model), (apart, kind), rng)
    status, objective, bound = report["status"], report["objective"], report["dual"]
    if status == "optimal" and bound is not None:
        gap, tolerance = (objective - bound) / objective if objective > 0 else 0.0, report["parameters"]["tol"]
        if not gap <= tolerance * (1 + 1e-9):
            wrong.append(f"false status: optimal to {tolerance}, but the gap is {gap}")
    if (code == 0) != (status in ("optimal", "closed_form", "rank_limited", "held_out")):
        wrong.append(f"exit code {code} with status {status}")
    return counts + found, false + wrong


def judge_rival(_, asked, fit, about, rng):
    report, tensors, _ = fit
    method, objective, bound = asked["--method"], report["objective"], report["dual"]
    counts, false = [f"fits of {method}"], []
    if report["status"] == "inconsistent":
        return counts, false
    if bound is not None:
        gap = (objective - bound) / objective if objective > 0 else 0.0
        counts.append(f"{method}: gap " + ("within" if gap <= report["parameters"]["tol"] else "above") + " its tolerance")
        counts += [f"{method}: no bound"] if bound == 0 and objective > 0 else []
        if Q(bound) > Q(objective):
            false.append(f"false bound: {bound!r} printed above the objective {objective!r}")
    if method == "lip-local":
        return counts, false
    problem = Rival(tensors, asked)
    if problem.unclear:
        return counts + ["rows about as near as a target: not judged further"], false
    f = problem.objective(tensors["L"])
    if abs(Q(objective) - f) > NEAR * f + NOTHING * len(problem.x) ** 2:
        false.append(f"false objective: {objective!r} printed, {float(f)!r} is true")
    if bound is not None and bound > 0:
        if Q(bound) > f:
            false.append(f"false bound: {bound!r} printed, the metric has {float(f)!r}")
        false += below(rng, problem.objective, tensors["L"], bound)
    return counts, false


def judge_anchored(_, asked, fit, about, rng):
    """The anchor's own term is in the program's coordinates: without it the objective is less."""
    report, tensors, _ = fit
    objective, bound = report["objective"], report["dual"]
    problem = Problem(tensors, asked, report["c"] if report["c"] is not None else 1.0)
    f = problem.objective(tensors["L"])
    counts, false = ["fits with an anchor"], []
    if Q(objective) < f * (1 - NEAR):
        false.append(f"false objective: {objective!r} printed, {float(f)!r} without the anchor")
    if report["status"] != "inconsistent":
        counts += ["with an anchor: certified to 1e-6"] if bound >= objective * (1 - CERTIFIED) else []
        if Q(bound) > Q(objective):
            false.append(f"false bound: {bound!r} printed above the objective {objective!r}")
    return counts, false


def judge_lip(folder, asked, fit, about, rng):
    report, tensors, model = fit
    apart, kind = about
    status, objective, bound = report["status"], report["objective"], report["dual"]
    counts, false = [], []
    problem = Problem(tensors, asked, report["c"] if report["c"] is not None else 1.0)
    f = problem.objective(tensors["L"])
    slack = tensors.get("certificate.slack")
    stored = problem.objective(tensors["L"], slack) if slack else f
    nothing = NOTHING * 2 * len(problem.pushing)
    if abs(Q(objective) - stored) > NEAR * stored + nothing and (slack or not problem.per_row):
        false.append(f"false objective: {objective!r} printed, {float(stored)!r} is true")
    elif Q(objective) < f * (1 - NEAR) - nothing:
        false.append(f"false objective: {objective!r} printed, below the least of the metric, {float(f)!r}")
    if problem.per_row and not slack:
        counts.append("slack per row without stored slacks")
    if status == "inconsistent":
        # The program says itself that this bound is not to be trusted.
        return counts, false
    if Q(bound) > f:
        false.append(f"false bound: {bound!r} printed, the metric has {float(f)!r}")
    if "certificate.multipliers" in tensors:
        shown = proved(problem, tensors, model)
        if "certificate.basis" in tensors and leaves_out(problem, tensors["certificate.basis"]):
            counts.append("bound of all metrics but those that measure the last digits of cells")
            other = off_basis(problem, tensors["L"]) if 2 <= len(problem.x[0]) <= 3 else None
            if other is not None and other < Q(bound):
                false.append(f"false bound: {bound!r} printed, a metric off the basis has {float(other)!r}")
        if isinstance(shown, str):
            if bound > 0:
                false.append(f"false bound: {bound!r} printed, but {shown}")
        elif Q(bound) > shown:
            false.append(f"false bound: {bound!r} printed, {float(shown)!r} is proved")
    elif status != "closed_form":
        false += beside_exact(folder, asked, report)
        false += below(rng, problem.objective, tensors["L"], bound)
    # What rows that rounding alone tells apart may cost is not asked for.
    near = min(apart, least_apart(problem.x, problem.y)) <= RESOLVED
    gap = (objective - bound) / objective if objective > 0 else 0.0
    if status != "closed_form" and asked["--solver"] == "exact":
        for of in ["", f", {kind}"] + ([] if near else [RESOLVED_ONLY, f"{RESOLVED_ONLY}, {kind}"]):
            counts.append("exact" + of)
            counts.append(("certified to 1e-6" if gap <= CERTIFIED else "not certified") + of)
    return counts, false


def beside_exact(folder, asked, report):
    """A bound must not be above the objective of any metric: here of the one that the exact solver finds."""
    again = {**asked, "--solver": "exact", "--c": repr(report["c"])}
    again.pop("--rank", None)
    del again["--c-rel"]
    _, other, _ = run(folder, again, "exact.lip")
    if other is None:
        return []
    tensors, _ = read_model(folder / "exact.lip")
    if "certificate.basis" in tensors:
        return []
    f = Problem(tensors, asked, report["c"]).objective(tensors["L"])
    if Q(report["dual"]) > f:
        return [f"false bound: {report['dual']!r} printed, a metric has {float(f)!r}"]
    return []


def one(task):
    seed, k, keep = task
    rng = random.Random(f"{seed}/{k}")
    rows, labels, apart, kind = table(rng)
    asked = options(rng, len(rows[0]))
    names = [f"a{j}" for j in range(len(rows[0]))]
    lines = [",".join(names + ["label"])]
    lines += [",".join([repr(v) for v in row] + [f"c{y}"]) for row, y in zip(rows, labels)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rows.csv").write_text("\n".join(lines) + "\n")
        try:
            counts, false = judge(folder, asked, apart, kind, rng)
        except Exception as error:  # a table that cannot be judged is no table that was judged well
            counts, false = ["not judged"], [f"cannot be judged: {type(error).__name__}: {error}"]
    return k, counts, false, " ".join(word for option in asked.items() for word in option)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="how many tables")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", help="also print the tables of which this is counted, such as 'status inconsistent'")
    parser.add_argument("--only", type=int, help="the number of a table, to judge it alone")
    parser.add_argument("--keep", help="with --only: the folder for its table and model")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many tables at a time (default: one per core)")
    args = parser.parse_args()
    ks = range(args.count) if args.only is None else [args.only]
    tasks = [(args.seed, k, args.keep if args.only is not None else None) for k in ks]
    counts = collections.Counter(tables=len(tasks))
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for k, found, false, asked in pool.map(one, tasks, chunksize=4):
            counts.update(found)
            counts["fits"] += any(what.startswith("status") for what in found)
            for what in false:
                counts["FALSE " + what.split(":")[0]] += 1
                print(f"--seed {args.seed} --only {k}: {what}\n    {asked}", flush=True)
            if args.only is not None or args.show in found:
                print(f"--seed {args.seed} --only {k}: {found}\n    {asked}", flush=True)
    for name in sorted(counts):
        if not name.startswith(("exact", "certified", "not certified")):
            print(f"{counts[name]:8} {name}")
    for of in sorted(name.removeprefix("exact") for name in counts if name.startswith("exact")):
        total = counts["exact" + of]
        print(f"certified to 1e-6{of}: {100 * counts['certified to 1e-6' + of] / total:.2f} % of {total} exact fits")
    return int(any(name.startswith("FALSE") for name in counts))


if __name__ == "__main__":
    sys.exit(main())

"""table.py [PROGRAM]  ->  a Markdown table: margins and Lipschitz margin ratios of the bundled data sets.

Under the Euclidean distance on standardised features, and under the metrics of Lip^D and Lip^I (a slack per pair, c = 1),
learned on all rows. Fourclass is in it if it has been fetched. PROGRAM: target/release/lipmetric by default.
"""

import json
import subprocess
import sys
import tempfile

program = sys.argv[1] if len(sys.argv) > 1 else "target/release/lipmetric"


def run(*args):
    return json.loads(subprocess.run([program, *args], check=True, capture_output=True, text=True).stdout)


def figure(value):
    return "∞" if value is None else f"{value:.3g}"


print("| data | metric | margin | diameter | margin/diameter | margin/class diameters | median local ratio | certified gap |")
print("|---|---|---:|---:|---:|---:|---:|---:|")
with tempfile.TemporaryDirectory() as folder:
    for entry in run("datasets", "list", "--json"):
        if not entry["available"]:
            continue
        for method, title in [(None, "Euclid"), ("lip-d", "Lip^D"), ("lip-i", "Lip^I")]:
            model, gap = [], ""
            if method:
                path = f"{folder}/m.lip"
                fit = run("fit", "--data", entry["name"], "--method", method, "--slack", "pair", "--c", "1", "--model", path, "--json")
                model, gap = ["--model", path], f"{fit['gap']:.0e}"
            report = run("margins", "--data", entry["name"], "--json", *model)
            m = report["margins"]
            cells = [m["margin"]["distance"], m["diameter"]["distance"], m["ratio_diameter"], m["ratio_intra"],
                     report["local_diameter"]["quantiles"][2]]
            print(f"| {entry['name']} | {title} | " + " | ".join(map(figure, cells)) + f" | {gap} |")

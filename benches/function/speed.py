"""speed.py  ->  a Markdown table: prediction by the extension against one nearest neighbour, and what learning the values takes.

Synthetic rows, two thirds to predict from, one third queries; CPU seconds of index and search together, one thread.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import shared  # noqa: E402

shared.build()
print("| rows, queries | columns | classes | rows with a bent value | values learned | 1-NN | extension | ratio |")
print("|---|---:|---:|---:|---:|---:|---:|---:|")
for size in ("30000x16x2", "30000x16x10", "30000x60x2", "30000x4x2", "1000x16x2"):
    told = shared.drive("function", f"synthetic:{size}")
    if "error" in told:
        sys.exit(f"{size}: {told['error']}")
    times = [f"{told[key]:.2f} s" for key in ("learning", "nearest", "function")]
    print(f"| {told['rows']}, {told['queries']} | {told['columns']} | {told['classes']} | {told['bent']} | " + " | ".join(times)
          + f" | {told['ratio']:.1f} |", flush=True)

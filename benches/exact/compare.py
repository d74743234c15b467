"""compare.py FOLDER [--peer PYTHON CONIC]: CPU seconds at c = 1 on one thread, against CVXPY + Clarabel in the same run."""
import sys

from common import build, fit, run, sets


def main(folder, peer):
    build()
    head = "set variant | pair: objective gap cpu_s | instance: objective gap cpu_s"
    print(head + (" | clarabel: objective cpu_s status | faster" if peer else ""))
    for path in sets(folder):
        for variant in "DI":
            cells = [f"{path.stem} {variant}"]
            times = {}
            for slack in ("pair", "instance"):
                best = None
                for _ in range(3):
                    r = fit(path, variant, slack, c=1)
                    if "error" not in r and (best is None or r["cpu_s"] < best["cpu_s"]):
                        best = r
                if best is None:
                    cells.append(r["error"][:90])
                else:
                    times[slack] = best["cpu_s"]
                    cells.append(f"{best['objective']:.6f} {best['gap']:.1e} {best['cpu_s']:.4f}")
            if peer:
                r, _ = run([peer[0], peer[1], path, variant, "1", "clarabel"])
                if "error" in r:
                    cells.append(r["error"][:60])
                else:
                    ratio = r["cpu_s"] / times["pair"]
                    cells.append(f"{r['objective']:.6f} {r['cpu_s']:.2f} {r.get('status', '')} | {ratio:.0f}x")
            print(" | ".join(cells), flush=True)


if __name__ == "__main__":
    args = sys.argv[1:]
    main(args[0], args[2:4] if len(args) > 1 and args[1] == "--peer" else None)

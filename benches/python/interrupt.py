"""interrupt.py [ROWS] [COLUMNS] [METHOD ...]: how long after Ctrl-C a fit ends, for every method or these.

    python benches/python/interrupt.py 20000 30

Each fit runs in a process of its own, on one thread, and gets the signal after one second. Printed is the CPU time from the signal to
`KeyboardInterrupt`, so that other work on the machine does not count, and what there was to keep: what the fit ended with, the best
distance before a step that was not waited for, or the Euclidean one where no step was finished. Fits that end sooner are `done`.
"""
import subprocess
import sys

CHILD = """
import os, signal, sys, threading, time
import numpy as np
import lipmetric
name, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
y = rng.integers(4, size=rows)
X = rng.normal(size=(rows, columns)) + 0.7 * rng.normal(size=(4, columns))[y]
lipmetric.fit(X[:50], y[:50], "nn")
sent = []
def send():
    # A second of the fit's own time, however busy the machine is.
    begun = time.process_time()
    while time.process_time() - begun < 1.0:
        time.sleep(0.01)
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send, daemon=True).start()
try:
    model = lipmetric.fit(X, y, name, n_jobs=1)
except KeyboardInterrupt as error:
    taken = time.process_time() - sent[0]
    note = getattr(error, "note", "")
    left = "euclidean" if "nothing was learned" in note else "best before the step" if note else "best so far"
    print(f"{taken:6.2f} s  {left if hasattr(error, 'model') else 'nothing'}")
else:
    print("  done")
"""


def main(rows="20000", columns="30", *names):
    import lipmetric

    print(f"{rows} x {columns}, four classes")
    for name in names or [method["method"] for method in lipmetric._lipmetric.methods()]:
        told = subprocess.run([sys.executable, "-W", "ignore", "-c", CHILD, name, rows, columns], capture_output=True, text=True)
        last = (told.stdout.strip() or (told.stderr.strip().splitlines() or ["failed"])[-1])[-90:]
        print(f"{name:<12}{last}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The exact index beside Faiss, usearch and hnswlib, on rows that a learned map has mapped.

    python benches/export/compare.py

Needs the package (`make module`, and PYTHONPATH=target/python), faiss-cpu, usearch and hnswlib. CPU seconds on one thread; usearch and hnswlib with
their default settings, which trade neighbours for speed.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["LIPMETRIC_NUM_THREADS"] = "1"

import time

import numpy as np

import lipmetric


def blobs(rng, n, p):
    y = rng.integers(8, size=n)
    centres = rng.normal(size=(8, p)) * 1.5
    return centres[y] + rng.normal(size=(n, p)), y


def timed(work):
    start = time.process_time()
    return work(), time.process_time() - start


def main():
    import faiss

    faiss.omp_set_num_threads(1)
    print("| rows | index | build | 2,000 queries, k = 10 | found |\n|---|---|---:|---:|---:|")
    for n, p in [(20_000, 16), (20_000, 64)]:
        rng = np.random.default_rng(0)
        X, y = blobs(rng, n, p)
        queries, _ = blobs(rng, 2_000, p)
        learned = lipmetric.fit(X[:2_000], y[:2_000], method="lip-local", n_jobs=1)
        # The map of a sample, with all rows to search in.
        model = lipmetric.fit(learned.transform(X), y, method="nn", scaling="none")
        q = learned.transform(queries)
        z = model.transform(q).astype("f4")
        # The index is made when it is first asked.
        ours, first = timed(lambda: model.neighbours(q, 10)["rows"])
        ours, ask = timed(lambda: model.neighbours(q, 10)["rows"])
        print(f"| {n} x {z.shape[1]} | lipmetric, exact | {max(first - ask, 0):.2f} s | {ask:.2f} s | 100 % |")

        def share(found):
            return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.tolist(), ours.tolist(), strict=True)])

        rows = learned.transform(X)
        index, build = timed(lambda: model.to_faiss(rows))
        found, ask = timed(lambda: index.search(z, 10)[1])
        print(f"| {n} x {z.shape[1]} | Faiss, IndexFlatL2 | {build:.2f} s | {ask:.2f} s | {100 * share(found):.0f} % |")
        index, build = timed(lambda: model.to_usearch(rows))
        found, ask = timed(lambda: index.search(z, 10, threads=1).keys.astype(int))
        print(f"| {n} x {z.shape[1]} | usearch | {build:.2f} s | {ask:.2f} s | {100 * share(found):.0f} % |")
        index, build = timed(lambda: model.to_hnswlib(rows))
        index.set_num_threads(1)
        found, ask = timed(lambda: index.knn_query(z, k=10)[0].astype(int))
        print(f"| {n} x {z.shape[1]} | hnswlib | {build:.2f} s | {ask:.2f} s | {100 * share(found):.0f} % |")
        one = q[:1]
        _, many = timed(lambda: [model.neighbours(one, 10) for _ in range(200)])
        print(f"one row of {n} x {z.shape[1]} from Python: {1000 * many / 200:.2f} ms")


if __name__ == "__main__":
    main()

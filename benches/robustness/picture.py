"""picture.py  ->  docs/robustness.svg: one query, the circle that the triangle inequality certifies, and that of the hyperplanes."""
import math
import pathlib

OWN = [(2.1, 2.9), (1.3, 1.6), (2.7, 1.5), (3.1, 3.3)]
OTHERS = [(5.6, 3.4), (5.0, 1.0), (6.4, 2.1)]
QUERY = (2.4, 2.3)
SCALE, WIDTH, HEIGHT = 80, 7.4, 4.6


def far(a, b):
    return math.hypot(a[0] - b[0], a[1] - b[1])


def hyperplane(i, j):
    return max(0.0, far(QUERY, j) ** 2 - far(QUERY, i) ** 2) / (2 * far(i, j))


own, other = min(OWN, key=lambda p: far(QUERY, p)), min(OTHERS, key=lambda p: far(QUERY, p))
triangle = (far(QUERY, other) - far(QUERY, own)) / 2
farthest = {j: max(OWN, key=lambda i: hyperplane(i, j)) for j in OTHERS}
decisive = min(OTHERS, key=lambda j: hyperplane(farthest[j], j))
radius = hyperplane(farthest[decisive], decisive)


def at(p):
    return f"{p[0] * SCALE:.1f}", f"{(HEIGHT - p[1]) * SCALE:.1f}"


def dot(p, colour, size=7):
    x, y = at(p)
    return f'<circle cx="{x}" cy="{y}" r="{size}" fill="{colour}"/>'


def ring(r, colour, dash):
    x, y = at(QUERY)
    return f'<circle cx="{x}" cy="{y}" r="{r * SCALE:.1f}" fill="{colour}" fill-opacity="0.12" stroke="{colour}" stroke-dasharray="{dash}"/>'


def text(p, words, anchor="start"):
    x, y = at(p)
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def border(i, j):
    middle = ((i[0] + j[0]) / 2, (i[1] + j[1]) / 2)
    along = ((i[1] - j[1]) / far(i, j), (j[0] - i[0]) / far(i, j))
    ends = [at((middle[0] + s * along[0], middle[1] + s * along[1])) for s in (-6, 6)]
    (x1, y1), (x2, y2) = ends
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#777"/>'


parts = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * SCALE:.0f} {HEIGHT * SCALE:.0f}" font-family="sans-serif" font-size="14">',
    f'<rect width="{WIDTH * SCALE:.0f}" height="{HEIGHT * SCALE:.0f}" fill="white"/>',
    *(border(farthest[j], j) for j in OTHERS),
    ring(radius, "#2a7", "none"),
    ring(triangle, "#d60", "6 4"),
    *(dot(p, "#27c") for p in OWN),
    *(dot(p, "#c33") for p in OTHERS),
    dot(QUERY, "black", 5),
    text((QUERY[0] + 0.1, QUERY[1] - 0.05), "query"),
    text((0.15, 0.5), f"dashed: half the margin, {triangle:.2f}"),
    text((0.15, 0.2), f"solid: up to the nearest line, {radius:.2f}"),
    text((5.3, 4.3), "lines: equally near to a blue and a red row", "middle"),
    "</svg>",
]
pathlib.Path(__file__).resolve().parents[2].joinpath("docs/robustness.svg").write_text("\n".join(parts) + "\n")

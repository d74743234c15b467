"""picture.py  ->  docs/theory.svg: the same rows under the Euclidean distance and under one that counts the second column less."""
import math
import pathlib

BLUE = [(0.5, 0.4), (0.8, 2.1), (0.4, 3.4), (0.7, 1.3), (0.6, 2.8)]
RED = [(2.1, 0.6), (2.4, 2.3), (2.2, 3.3), (2.5, 1.5), (2.3, 2.8)]


def panel(left, scales, title):
    """One of the two halves, its distances measured as they are drawn."""
    blue, red = ([(left + scales[0] * x, 60 + scales[1] * y) for x, y in rows] for rows in (BLUE, RED))
    margin = min(((a, b) for a in blue for b in red), key=lambda pair: math.dist(*pair))
    diameter = max(((a, b) for a in blue + red for b in blue + red), key=lambda pair: math.dist(*pair))
    line = '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" {}/>'
    out = [f'<text x="{left}" y="30" font-size="16">{title}</text>']
    out.append(line.format(*diameter[0], *diameter[1], 'stroke="#888" stroke-dasharray="5 4"'))
    out.append(line.format(*margin[0], *margin[1], 'stroke="#0a8a50" stroke-width="3"'))
    for rows, colour in ((blue, "#2176c7"), (red, "#c93030")):
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="{colour}"/>' for x, y in rows]
    ratio = math.dist(*margin) / math.dist(*diameter)
    out.append(f'<text x="{left}" y="{94 + 3.4 * scales[1]:.0f}" font-size="14">margin / diameter = {ratio:.2f}</text>')
    return out


def main():
    svg = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 340" font-family="sans-serif" role="img" '
           'aria-label="margin and diameter under two distances">', '<rect width="620" height="340" fill="#fff"/>']
    svg += panel(30, (70, 70), "Euclidean distance") + panel(330, (95, 14), "learned: the second column counts less")
    svg += ['<text x="330" y="230" font-size="14" fill="#0a8a50">solid: the margin</text>',
            '<text x="330" y="254" font-size="14" fill="#666">dashed: the diameter</text>', "</svg>"]
    place = pathlib.Path(__file__).resolve().parents[2] / "docs" / "theory.svg"
    place.write_text("\n".join(svg) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

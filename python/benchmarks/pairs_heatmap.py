"""Heat maps of the 100 pairs: panels of figures -> one SVG.

The colours are cividis, which reads the same with and without colour vision, and every cell carries its figure. A cell
under its target has a dashed frame.
"""

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

# Cividis (Nunez, Anderton, Renslow 2018), every eighth of the way.
CIVIDIS = ("#00204d", "#05366e", "#3f4b6b", "#5f606d", "#7b7678", "#958f78", "#b5a971", "#d7c463", "#ffea46")

CELL_W, CELL_H, LEFT, TOP, GAP = 50, 30, 58, 74, 34


@dataclass
class Panel:
    """One map."""

    title: str
    figures: dict[tuple[str, str], float]
    under: set[tuple[str, str]]
    ticks: tuple[float, ...]
    """Ends of the colour scale, and what is written along it."""
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """0 to 1 along the scale."""
        low, high = self.ticks[0], self.ticks[-1]
        if self.logarithmic:
            value, low, high = (math.log(max(x, 1e-9)) for x in (value, low, high))
        return min(1.0, max(0.0, (value - low) / (high - low)))


def colour(place: float) -> tuple[str, str]:
    """Fill at a place of the scale, and the colour of text on it."""
    position = place * (len(CIVIDIS) - 1)
    index = min(int(position), len(CIVIDIS) - 2)
    ends = [[int(CIVIDIS[i][c : c + 2], 16) for c in (1, 3, 5)] for i in (index, index + 1)]
    rgb = [round(a + (b - a) * (position - index)) for a, b in zip(*ends, strict=True)]
    linear = [(c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4) for c in rgb]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#{:02x}{:02x}{:02x}".format(*rgb), "#000" if luminance > 0.18 else "#fff"


def figure(value: float) -> str:
    """Three characters or so."""
    return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"


def text(x: float, y: float, content: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" {extra}>{escape(content)}</text>'


def draw_panel(panel: Panel, sources: list[str], outputs: list[str], number: int) -> list[str]:
    """The panel at the origin."""
    width, height = CELL_W * len(outputs), CELL_H * len(sources)
    parts = [text(0, 18, panel.title, "start", 'font-size="16" font-weight="bold"')]
    parts.append(text(LEFT + width / 2, TOP - 26, "output", extra='fill="#444"'))
    parts.append(text(0, TOP - 10, "source", "start", 'fill="#444"'))
    parts += [text(LEFT + CELL_W * (i + 0.5), TOP - 10, name) for i, name in enumerate(outputs)]
    for row, source in enumerate(sources):
        y = TOP + CELL_H * row
        parts.append(text(LEFT - 8, y + CELL_H / 2 + 4.5, source, "end"))
        for column, output in enumerate(outputs):
            x, value = LEFT + CELL_W * column, panel.figures.get((source, output))
            if value is None:
                parts.append(text(x + CELL_W / 2, y + CELL_H / 2 + 4.5, "-"))
                continue
            fill, ink = colour(panel.place(value))
            parts.append(f'<rect x="{x}" y="{y}" width="{CELL_W - 1}" height="{CELL_H - 1}" fill="{fill}"/>')
            if (source, output) in panel.under:
                parts.append(f'<rect x="{x + 2.5}" y="{y + 2.5}" width="{CELL_W - 6}" height="{CELL_H - 6}" '
                             f'fill="none" stroke="{ink}" stroke-width="1.6" stroke-dasharray="4 2.5"/>')
            parts.append(text(x + CELL_W / 2 - 0.5, y + CELL_H / 2 + 4.5, figure(value), extra=f'fill="{ink}"'))
    y = TOP + height + 12
    stops = "".join(f'<stop offset="{i / 8:g}" stop-color="{c}"/>' for i, c in enumerate(CIVIDIS))
    parts.append(f'<linearGradient id="scale{number}">{stops}</linearGradient>')
    parts.append(f'<rect x="{LEFT}" y="{y}" width="{width - 1}" height="10" fill="url(#scale{number})"/>')
    for tick in panel.ticks:
        anchor = "start" if tick == panel.ticks[0] else "end" if tick == panel.ticks[-1] else "middle"
        parts.append(text(LEFT + (width - 1) * panel.place(tick), y + 26, f"{tick:g}", anchor, 'font-size="12"'))
    return parts


def svg(title: str, panels: list[Panel], sources: list[str], outputs: list[str]) -> str:
    """All panels, two in a row."""
    panel_w = LEFT + CELL_W * len(outputs) + GAP
    panel_h = TOP + CELL_H * len(sources) + 44 + GAP
    width, height = 2 * panel_w + GAP / 2, -(-len(panels) // 2) * panel_h + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="system-ui, sans-serif" font-size="13" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
        text(GAP / 2, 26, "A dashed frame: under the pair's target.", "start", 'fill="#444"'),
    ]
    for number, panel in enumerate(panels):
        x, y = GAP / 2 + number % 2 * panel_w, 44 + number // 2 * panel_h
        parts.append(f'<g transform="translate({x:g} {y:g})">')
        parts += draw_panel(panel, sources, outputs, number)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"

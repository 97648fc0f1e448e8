"""Line plots as SVG, written by hand so that they need no package. Both axes are logarithmic."""

import math
from dataclasses import dataclass
from html import escape
from pathlib import Path

COLORS = ["#c0392b", "#e08e0b", "#1f6fb2", "#2e8b57"]       # a colour a policy; dashes and marks tell the rest
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 420, 70, 20, 40, 130


@dataclass
class Series:
    label: str
    points: list[tuple[float, float]]
    color: int
    is_marks: bool = False      # single marks in place of a line


@dataclass
class Panel:
    title: str
    x_label: str
    y_label: str
    series: list[Series]


class Axis:
    """Maps values to pixels, on a logarithmic scale."""

    def __init__(self, values: list[float], start: float, end: float):
        self.low, self.high = min(values), max(max(values), min(values) * 1.1)
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        powers = [m * 10.0 ** e for e in range(-3, 7) for m in (1, 2, 5)]
        return [p for p in powers if self.low * 0.999 <= p <= self.high * 1.001]


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(words)}</text>'


def frame(panel: Panel, x: Axis, y: Axis) -> list[str]:
    parts = [text(WIDTH / 2, 22, panel.title, 'text-anchor="middle" font-size="15"'),
             text(WIDTH / 2, HEIGHT - BOTTOM + 36, panel.x_label, 'text-anchor="middle"'),
             text(0, 0, panel.y_label, f'text-anchor="middle" transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"')]
    for value in sorted({point[0] for one in panel.series for point in one.points}):
        parts += [f'<path d="M{x.at(value):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#eee"/>',
                  text(x.at(value), HEIGHT - BOTTOM + 18, f"{value:g}", 'text-anchor="middle"')]
    for value in y.ticks():
        parts += [f'<path d="M{LEFT} {y.at(value):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>',
                  text(LEFT - 8, y.at(value) + 4, f"{value:g}", 'text-anchor="end"')]
    return parts


def drawn(one: Series, x: Axis, y: Axis) -> list[str]:
    color = COLORS[one.color]
    places = [(x.at(a), y.at(b)) for a, b in sorted(one.points)]
    if one.is_marks:
        return [f'<rect x="{a - 5:.1f}" y="{b - 5:.1f}" width="10" height="10" fill="none" stroke="{color}" stroke-width="2"/>'
                for a, b in places]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    return [f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'] + \
           [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{color}"/>' for a, b in places]


def legend(series: list[Series]) -> list[str]:
    parts = []
    for i, one in enumerate(series):
        left, top = LEFT + (i % 2) * 290, HEIGHT - BOTTOM + 62 + (i // 2) * 20
        x, y = Axis([1, 2], left, left + 24), Axis([1, 2], top, top + 1)
        sample = Series("", [(1.5, 1)] if one.is_marks else [(1, 1), (2, 1)], one.color, one.is_marks)
        parts += drawn(sample, x, y) + [text(left + 34, top + 4, one.label)]
    return parts


def panel_svg(panel: Panel) -> list[str]:
    panel.series = [one for one in panel.series if one.points]
    points = [point for one in panel.series for point in one.points]
    x = Axis([p[0] for p in points], LEFT, WIDTH - RIGHT)
    y = Axis([p[1] for p in points] + [1], HEIGHT - BOTTOM, TOP)
    return frame(panel, x, y) + [part for one in panel.series for part in drawn(one, x, y)] + legend(panel.series)


def write_svg(file: Path, panels: list[Panel]) -> None:
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * len(panels)}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>']
    for i, panel in enumerate(panels):
        parts += [f'<g transform="translate({WIDTH * i} 0)">', *panel_svg(panel), "</g>"]
    file.write_text("\n".join(parts + ["</svg>"]) + "\n")

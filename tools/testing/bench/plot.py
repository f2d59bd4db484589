# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The ratios as an SVG bar chart on a logarithmic axis, targets marked."""
import math
from html import escape

from table import number, reached

_BAR, _GAP, _LEFT, _WIDTH, _TOP, _RIGHT = 18, 10, 300, 560, 50, 90


def _position(ratio, low, high):
    share = (math.log10(max(ratio, low)) - math.log10(low)) / (math.log10(high) - math.log10(low))
    return _LEFT + share * _WIDTH


def svg(table):
    values = [row.ratio for row in table] + [row.target for row in table if row.target]
    low = 10 ** min(-1, math.floor(math.log10(min(values))))
    high = 10 ** math.ceil(math.log10(max(values)))
    height = _TOP + len(table) * (_BAR + _GAP) + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + _RIGHT}" height="{height}" '
             'font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{_LEFT}" y="20" font-size="15">ohca0: how many times better than the yardstick '
             '(line: target)</text>']
    for exponent in range(round(math.log10(low)), round(math.log10(high)) + 1):
        x = _position(10.0 ** exponent, low, high)
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP - 12}" x2="{x:.1f}" y2="{height - 25}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle">{10.0 ** exponent:g}</text>')
    for index, row in enumerate(table):
        y = _TOP + index * (_BAR + _GAP)
        end = _position(row.ratio, low, high)
        colour = "#3b7dd8" if reached(row) else "#d8563b"
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(row.name)}</text>')
        parts.append(f'<rect x="{_LEFT}" y="{y}" width="{max(end - _LEFT, 1):.1f}" height="{_BAR}" fill="{colour}"/>')
        parts.append(f'<text x="{end + 6:.1f}" y="{y + 13}">{number(row.ratio)}</text>')
        if row.target:
            x = _position(row.target, low, high)
            parts.append(f'<line x1="{x:.1f}" y1="{y - 3}" x2="{x:.1f}" y2="{y + _BAR + 3}" stroke="black" '
                         'stroke-width="2"/>')
    return "\n".join(parts + ["</svg>"]) + "\n"

"""What Hammes 2000 prints in tables 7.1 to 7.7 of machines, by table and row: FMAPs (of both FPGAs in table 7.2), MHz,
and thousands of cycles."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PUBLISHED", "Published"]


@dataclass(frozen=True)
class Published:
    """A row: 4-input LUTs ("FMAPs") of an XC4036, MHz, and cycles."""

    fmaps: int
    mhz: float
    cycles: int


def _rows(text: str, first: int = 1) -> dict[str, Published]:
    """Rows by depth, ``FMAPs MHz kilocycles``; a ``-`` for one that could not be routed."""
    found = {}
    for depth, row in enumerate(text.split(","), first):
        if row.strip() != "-":
            fmaps, mhz, cycles = row.split()
            found[f"{depth}x3"] = Published(sum(map(int, fmaps.split("+"))), float(mhz), round(1000 * float(cycles)))
    return found


def _named(text: str) -> dict[str, Published]:
    rows = (row.split(":") for row in text.split(";"))
    return {name.strip(): Published(int(f), float(mhz), round(1000 * float(cycles)))
            for name, figures in rows for f, mhz, cycles in [figures.split()]}


PUBLISHED: dict[str, dict[str, Published]] = {
    "7.1": _rows("726 9.18 74.54, 802 8.93 39.47, 877 8.05 27.45, 903 8.65 21.37, 986 8.18 17.75, 1113 8.41 15.73, "
                 "1093 7.44 13.84, 1096 9.41 12.42, 1194 5.47 11.71, 1240 8.06 10.56, 1318 7.08 10.34, 1373 4.93 9.47, "
                 "1453 7.42 9.20, 1509 4.35 8.83"),
    "7.2": _rows("560+769 8.03 60.39, 637+799 7.89 30.30, 705+882 7.91 20.25, 772+951 8.30 15.02, "
                 "773+1012 8.01 12.02, 873+1033 7.40 10.21, 933+1099 7.78 8.64, 980+1211 7.86 7.47, "
                 "988+1260 7.95 7.39, 1070+1322 7.67 5.91, 1142+1469 8.00 5.92, 1232+1547 5.86 4.86, "
                 "1278+1557 4.59 4.22, 1358+1525 4.45 4.14"),
    "7.3": _rows("680 9.17 118.75, 744 9.31 66.94, 860 8.41 49.62, 864 8.54 40.57, 978 9.01 35.23, 1023 7.02 32.29, "
                 "1101 7.61 31.66, 1131 8.57 30.77, 1233 7.58 31.53, 1276 7.30 30.08, 1361 4.90 31.16, "
                 "1445 5.33 30.11, 1511 4.27 30.49, 1579 2.96 30.52"),
    "7.4": _rows("632 10.04 237.65, 734 9.66 148.67, 860 8.56 118.90, 887 8.84 131.98, 1023 9.33 128.47, "
                 "1085 8.36 128.58, 1194 8.83 125.65, 1274 7.45 122.18, 1348 4.32 124.98, -, 1543 3.25 123.86"),
    "7.5": _rows("724 9.18 132.93, 827 8.20 73.55, 948 9.20 53.73, 1023 8.97 44.31, 1121 7.50 38.10, 1195 7.92 33.74, "
                 "1300 7.94 33.75, 1444 6.70 32.56, 1461 6.19 31.63, 1582 4.84 31.41, 1664 4.36 30.74", 2),
    "7.6": _named("unfused, upper: 847 9.33 132.95; unfused, lower: 724 9.18 131.83; fused: 1778 7.06 146.71; "
                  "carrying: 1146 8.61 172.20; carrying, 4x3: 1447 7.81 95.67; carrying, 5x3: 1734 8.10 68.45; "
                  "carrying, padded: 1154 8.27 146.98; carrying, padded, 4x3: 1463 8.37 80.88; "
                  "carrying, padded, 5x3: 1770 6.82 58.34"),
    "7.7": _named("before, upper: 862 7.56 132.98; before, lower: 866 8.96 132.88; after, upper: 762 9.13 147.54; "
                  "after, lower: 643 8.65 146.88; fused: 892 9.27 118.29; 6x4: 1921 5.18 35.22"),
}
"""By table and row, called as `benchmarks.sac_loops` and `benchmarks.window_machine` call them."""

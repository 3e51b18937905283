"""The frame of the reports: one self-contained HTML page, whatever the target."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["add_section", "html_page", "html_table", "html_text"]

_STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 1200px; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; } td, th { padding: .25em .9em; border-bottom: 1px solid #ddd; }
th { text-align: left; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #f6f6f6; padding: 1em; overflow: auto; max-height: 40em; font-size: 13px; }
"""


def html_page(title: str, sections: Iterable[tuple[str, str]], style: str = "") -> str:
    """The page: sections of a heading and HTML each; `style` is added to the common one."""
    body = "\n".join(f"<h2>{escape(name)}</h2>\n{content}" for name, content in sections)
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{_STYLE}{style}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n")


def add_section(page: str, name: str, content: str) -> str:
    """A page of `html_page` with one more section at its end."""
    return page.replace("\n</body></html>", f"\n<h2>{escape(name)}</h2>\n{content}\n</body></html>", 1)


def html_table(rows: Iterable[tuple[str, object]], *, numbers: bool = True) -> str:
    """Names with values; `numbers` are flush right."""
    cell = '<td class="number">' if numbers else "<td>"
    cells = "".join(f"<tr><th>{escape(k)}</th>{cell}{escape(str(v))}</td></tr>" for k, v in rows)
    return f"<table>{cells}</table>"


def html_text(text: str) -> str:
    """Text as it is, in lines."""
    return f"<pre>{escape(text)}</pre>"

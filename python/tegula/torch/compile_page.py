"""The report of tegula.torch.explain as one page: source, graph and plan side by side. It needs nothing from outside.

Every part carries the numbers of the nodes it is about (data-n="0.3 0.5": graph and node). A click lights up all parts
that share one.
"""
import html
import linecache

from tegula.torch.compile_report import _bytes, _count, moved, operands, padded, tiled

_STYLE = """
.tegula { font: 13px/1.5 system-ui, sans-serif; color: #1c2733; background: #fff }
.tegula h2 { font-size: 15px; margin: 1em 0 .3em } .tegula h3 { font-size: 13px; margin: .6em 0 .3em; color: #51606f }
.tegula .columns { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 12px; align-items: start;
  margin-top: 6px }
.tegula .column { overflow: auto; max-height: 85vh; border: 1px solid #d5dce3; border-radius: 6px; padding: 0 8px 8px }
.tegula h3 { overflow-wrap: anywhere }
.tegula .part, .tegula .line { border-radius: 3px; padding: 0 4px; font: 12px/1.6 ui-monospace, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere }
.tegula .part { cursor: pointer } .tegula .part.wrap { white-space: normal; margin-bottom: 4px }
.tegula .source { padding-left: 5.5em; text-indent: -5.1em } .tegula .line { color: #687684 }
.tegula .part:focus-visible { outline: 2px solid #2c6fbb; outline-offset: -2px }
.tegula .copy { background: #fdecd8 } .tegula .boundary { background: #ece7f6 } .tegula .on { background: #cfe5ff }
.tegula .chosen { box-shadow: inset 3px 0 #2c6fbb } .tegula small { color: #51606f; display: block }
.tegula .key { border-radius: 3px; padding: 0 6px; margin-left: 6px }
@media (prefers-color-scheme: dark) { .tegula { color: #dde5ec; background: #14191f }
.tegula .column { border-color: #36414d }
.tegula .copy { background: #4d3417 } .tegula .boundary { background: #372e52 } .tegula .on { background: #174a80 }
.tegula small, .tegula h3, .tegula .line { color: #9fb0c0 } .tegula .on small { color: #c9d8e6 } }
@media (max-width: 900px) { .tegula .columns { grid-template-columns: 1fr } }
"""

_SCRIPT = """
(function (root) {
  var parts = Array.prototype.slice.call(root.querySelectorAll('[data-n]'));
  function numbers(part) { return part.getAttribute('data-n').split(' '); }
  function choose(chosen) {
    var same = chosen.classList.contains('chosen'), wanted = numbers(chosen);
    parts.forEach(function (part) {
      var on = !same && numbers(part).some(function (n) { return wanted.indexOf(n) >= 0; });
      part.classList.toggle('on', on);
      part.classList.toggle('chosen', !same && part === chosen);
      part.setAttribute('aria-selected', on ? 'true' : 'false');
    });
    root.querySelectorAll('.column').forEach(function (column) {
      var first = column.querySelector('.on');
      if (!first || column.contains(chosen)) return;
      column.scrollTop += first.getBoundingClientRect().top - column.getBoundingClientRect().top - 40;
    });
  }
  parts.forEach(function (part) {
    part.addEventListener('click', function () { choose(part); });
    part.addEventListener('keydown', function (event) {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      choose(part);
    });
  });
})(%s);
"""

_AROUND = 3  # lines of source shown before and after those that made a node


def _part(numbers, text, style="", small=()):
    rest = "".join(f"<small>{html.escape(line)}</small>" for line in small)
    return (f'<div class="part {style}" tabindex="0" role="option" aria-selected="false" '
            f'data-n="{" ".join(numbers)}">{html.escape(text) or "&nbsp;"}{rest}</div>')


def _marks(explanation):
    """{(file, line): style} of the lines that cause copies, or come to the CPU."""
    marks = {}
    for graph in explanation.graphs:
        for style, rows in (("boundary", graph.boundaries), ("copy", [*graph.copies, *graph.restickifies])):
            marks |= {(row["source"]["file"], row["source"]["line"]): style for row in rows if row["source"]}
    return marks


def _source(explanation):
    lines, marks = {}, _marks(explanation)
    for g, graph in enumerate(explanation.graphs):
        for node in graph.nodes:
            at = node["source"]
            if at is not None:
                of_file = lines.setdefault(at["file"], {})
                of_file.setdefault(at["line"], (at["text"], []))[1].append(f"{g}.{node['node']}")
    for file, found in lines.items():
        yield f"<h3>{html.escape(file)}</h3>"
        before = None
        for number in sorted({n + d for n in found for d in range(-_AROUND, _AROUND + 1)}):
            text = linecache.getline(file, number).rstrip("\n") or found.get(number, ("",))[0]
            if number not in found and (number < 1 or number > len(linecache.getlines(file))):
                continue
            if before is not None and number > before + 1:
                yield '<div class="line source">    ⋯</div>'
            before = number
            if number in found:
                style = marks.get((file, number), "")
                yield _part(found[number][1], f"{number:5}  {text}", f"source {style}".rstrip())
            else:
                yield f'<div class="line source">{html.escape(f"{number:5}  {text}")}</div>'


def _graph(g, graph):
    yield f"<h3>{html.escape(graph.headline())}</h3>"
    for node in graph.nodes:
        made = "" if node["kind"] == "input" else f" = {node['opcode']}({operands(node, graph.nodes)})"
        style = "boundary" if node["kind"] == "boundary" else ""
        yield _part([f"{g}.{node['node']}"], f"{node['name']}{made}", style,
                    [f"{node['kind']} {node['dtype']}{node['shape']}"])


def _plan(g, graph):
    yield f"<h3>{html.escape(graph.kind)}: {'; '.join(moved(graph))}</h3>"
    for why in graph.recompiled:
        yield f"<div>compiled again: {html.escape(why)}</div>"
    for copy in graph.restickifies:
        readers = ", ".join(f"{r['name']} (operand {r['operand']})" for r in copy["readers"])
        at = copy["source"]
        yield _part([f"{g}.{copy['producer']}", *(f"{g}.{r['node']}" for r in copy["readers"])],
                    f"restickify {copy['name']}, {_bytes(copy['bytes'])}", "wrap copy",
                    [f"for {readers}", f"from {copy['from']}", f"to {copy['to']}", copy["rule"],
                     *([] if at is None else [f"{at['file']}:{at['line']}: {at['text']}"])])
    for row in graph.paddings:
        yield _part([f"{g}.{row['tensor']}", f"{g}.{row['reader']['node']}"], padded(row), "wrap",
                    [f"for {row['reader']['name']} (operand {row['reader']['operand']})"])
    for copy in graph.copies:
        yield _part([f"{g}.{copy['node']}"], f"copy {copy['name']}, {_bytes(copy['bytes'])}", "wrap copy",
                    [copy["why"]])
    for node in graph.boundaries:
        yield _part([f"{g}.{node['node']}"], f"boundary {node['name']}", "wrap boundary", [node["opcode"], node["why"]])
    for note in graph.notes:
        yield _part([f"{g}.{note['node']}"], f"note {note['name']}", "wrap", [note["opcode"], note["why"]])
    for node in graph.beside():
        yield _part([f"{g}.{node['node']}"], f"on the CPU {node['name']}", "wrap boundary",
                    [node["opcode"], node["why"]])
    for node in graph.nodes:
        size = [] if node["bytes"] is None else [_bytes(node["bytes"])]
        size += [] if node["tiles"] is None else [tiled(node)]
        yield _part([f"{g}.{node['node']}"], node["name"], "wrap", [node["layout"] or "not on the device", *size])


def fragment(explanation):
    """For a notebook: the page without its frame."""
    graphs = list(enumerate(explanation.graphs))
    columns = {
        "Source": "".join(_source(explanation)),
        "Graph": "".join(text for g, graph in graphs for text in _graph(g, graph)),
        "Plan": "".join(text for g, graph in graphs for text in _plan(g, graph)),
    }
    made = "".join(f'<div class="column" role="listbox" aria-label="{title}"><h2>{title}</h2>{text}</div>'
                   for title, text in columns.items())
    total = "; ".join(moved(explanation))
    return (f'<div class="tegula"><style>{_STYLE}</style><div>{_count(len(graphs), "graph")}; {total}.'
            ' A click on a line shows what belongs to it. <span class="key copy">copies</span>'
            '<span class="key boundary">not planned</span></div>'
            f'<div class="columns">{made}</div>'
            f"<script>{_SCRIPT % 'document.currentScript.parentNode'}</script></div>")


def page(explanation):
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            'content="width=device-width"><title>tegula.torch.explain</title>'
            '<style>body { margin: 8px; background: #fff }'
            ' @media (prefers-color-scheme: dark) { body { background: #14191f } }</style></head>'
            f"<body>{fragment(explanation)}</body></html>\n")

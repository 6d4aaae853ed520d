"""Pictures in notebooks. Imported when one is shown.

As an image and not as SVG in the page: so it is never wider than the page, its styles and names do not meet those of
another picture, and notebooks that are not trusted yet show it too. Light or dark is chosen by the picture itself, as
the page or the system has it.
"""
import base64
import html


def image(svg, about):
    data = base64.b64encode(svg.encode()).decode()
    return (f'<img src="data:image/svg+xml;base64,{data}" alt="{html.escape(about)}" '
            'style="max-width:100%;height:auto">')

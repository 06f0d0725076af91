"""Show results: tables for terminal, HTML, Markdown and LaTeX, charts, and the report.

Nothing is computed here that a decision could depend on.
"""

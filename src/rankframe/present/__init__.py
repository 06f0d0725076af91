"""Show results: tables for terminal, HTML, Markdown and LaTeX, charts, and the report.

This package only shows numbers. All numbers that decisions depend on are computed elsewhere.
"""

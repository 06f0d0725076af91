"""What people look at: tables (terminal, HTML, Markdown), charts and the report page.

Nothing is computed here that could be decided on; results come from the packages below.
"""

"""Tables on a terminal, and results as text for other programs: JSON, CSV, Markdown.

Tables keep to the width that there is. Nothing is computed here, and no option is read.
"""

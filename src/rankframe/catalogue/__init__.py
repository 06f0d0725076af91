"""What is shown of a catalogue: its documents, what is known of them, and how often each is shown.

The shown frame has a row for every document shown; it is made chunk by chunk and never held whole.
"""

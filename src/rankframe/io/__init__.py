"""Open inputs of any kind as lazy tables with checked columns, and write outputs atomically.

`sources` finds the data (files, folders, object stores, databases); `formats` decodes it. Bad input
is refused here.
"""

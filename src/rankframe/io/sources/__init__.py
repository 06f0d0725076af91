"""Where data lies → a table as found: files, folders, addresses, lakes, databases; and back again.

What a column means is not known here: `inputs` finds that out. Packages for one kind of place are
imported when such a place is opened.
"""

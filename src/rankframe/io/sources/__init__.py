"""Open files, folders, addresses, lakes, databases and objects of other libraries; write files."""

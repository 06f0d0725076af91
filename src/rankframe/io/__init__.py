"""Whatever users have → frames with our columns: scanning, validation, lists, queries.

What is unfit is refused here, with an example. Nothing is ranked here, and no metric computed.
"""

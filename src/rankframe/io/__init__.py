"""Turn anything that people have into checked lazy tables; write outputs atomically.

`sources` knows where data lies, `formats` what bytes mean. Bad input is refused here.
"""

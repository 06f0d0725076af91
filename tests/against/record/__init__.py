"""Scripts that run other people's recommender packages once and write down what they say.

Each runs in an environment of its own, outside of the tests: see `recorded/README.md`.
"""

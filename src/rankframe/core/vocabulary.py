"""Choose the words of texts for people: queries and documents, or users and items.

All texts are written about queries and documents. If the inputs have columns of users and items,
`Vocabulary.render` puts a text into these words before people read it. Names that programs rely on
stay the same: columns of frames, items of the ledger, options, and fields of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from rankframe.core.records import record

if TYPE_CHECKING:
    import polars as pl

# The ledger's item that names the vocabulary, if it is not queries and documents.
VOCABULARY: Final = "policy_vocabulary"
_PLURALS: Final = {"query": "queries"}
# Words to replace. Quoted text, options, and parts of names and paths stay as they are. An article
# in front of a word may change.
_WORDS: Final = re.compile(
    r"(?P<quoted>(?<!\w)'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`)"
    r"|(?<![\w./@#])(?<!--)(?P<article>an? )?(?P<word>(?:query|doc)_ids?|query|queries|documents?)"
    r"(?![\w=/]|-\w|\.\w)",
    re.IGNORECASE,
)


@record
class Vocabulary:
    """Hold the nouns that texts use for queries and documents, such as "user" and "item".

    >>> Vocabulary("user", "item").render("A document of 2 queries, e.g. 'query' of run query.csv")
    "An item of 2 users, e.g. 'query' of run query.csv"
    """

    query: str = "query"
    document: str = "document"

    def __str__(self) -> str:
        return f"{_plural(self.query)} and {_plural(self.document)}"

    @classmethod
    def common(cls, every: Iterable[Vocabulary]) -> Vocabulary:
        """Return the vocabulary that all share, or else that of queries and documents."""
        distinct = set(every)
        return distinct.pop() if len(distinct) == 1 else cls()

    @classmethod
    def from_ledger(cls, ledger: pl.DataFrame | None) -> Vocabulary:
        """Return the vocabulary in a result's ledger, or the one that all systems share."""
        if ledger is None:
            return cls()
        notes = ledger.filter(item=VOCABULARY)["note"].to_list()
        systems = ledger["system"].drop_nulls().n_unique() if "system" in ledger.columns else 1
        if not notes or len(notes) < systems or len(set(notes)) > 1:
            return cls()
        nouns = [_singular(noun) for noun in (notes[0] or "").split(" and ")]
        return cls(*nouns) if len(nouns) == 2 else cls()

    def described(self) -> dict[str, str]:
        """Return the policy by which a ledger names the words; {} for queries and documents."""
        return {} if self == Vocabulary() else {VOCABULARY.removeprefix("policy_"): str(self)}

    def render(self, text: str) -> str:
        """Rewrite a text about queries and documents in the words of this vocabulary."""
        return text if self == Vocabulary() else _WORDS.sub(self._word, text)

    def _word(self, found: re.Match[str]) -> str:
        word, article = found["word"], found["article"] or ""
        if word is None:
            return found[0]
        stem, _, end = word.lower().partition("_")
        noun = self.query if stem.startswith("quer") else self.document
        if end:
            noun = f"{noun if noun != 'document' else 'doc'}_{end}"
        elif stem.endswith("s"):
            noun = _plural(noun)
        if article:
            return f"{article[0]}{'n' if noun.startswith('i') else ''} {noun}"
        return noun.capitalize() if word[0].isupper() else noun


def _plural(noun: str) -> str:
    return _PLURALS.get(noun, f"{noun}s")


def _singular(noun: str) -> str:
    return next((one for one, many in _PLURALS.items() if many == noun), noun.removesuffix("s"))

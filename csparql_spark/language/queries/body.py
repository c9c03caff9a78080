"""The body of a query as standard SPARQL 1.1: whether the engine of the house reads it.

The grammar has already read the text; Oxigraph must be able to evaluate the body that was made from it. What it refuses
is refused as the text's error.

    check_evaluable("SELECT ?s { VALUES () {} { ?s ?p ?o } }")         raises BodyProblem, or says nothing
"""

from __future__ import annotations

from pyoxigraph import Store

_LONGEST_REASON = 160
_NOTHING = Store()


class BodyProblem(Exception):
    """What the engine says against a body."""


def check_evaluable(body: str) -> None:
    """Whether pyoxigraph reads a body; raises `BodyProblem`. The body should not be able to evaluate to anything."""
    try:
        _NOTHING.query(body)
    except SyntaxError as reason:
        sentence = str(reason).splitlines()[0][:_LONGEST_REASON]
        raise BodyProblem(f"The SPARQL engine refuses this query ({sentence}).") from reason
    except RuntimeError:
        # It reads the body. A DESCRIBE without WHERE is evaluated all the same, and may call what is no function here.
        return

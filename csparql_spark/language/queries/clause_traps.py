"""Traps in the clauses around a pattern: the prologue, REGISTER, windows, FROM.

Each function looks at a scene and speaks if it recognises its mistake.

    FROM STREAM <s> [NOW - 10 S SLIDE 1 S]    ->    A window is told by its length ... Write [RANGE 10s STEP 1s].
"""

from __future__ import annotations

from csparql_spark.language.diagnostics import Diagnostic
from csparql_spark.language.errors import Fix
from csparql_spark.language.queries.expectations import found_words
from csparql_spark.language.queries.scene import Scene, did_you_mean, meant

_FORMS = ("SELECT", "CONSTRUCT", "DESCRIBE", "ASK")
_UPDATES = ("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH")


def trap_beginning(scene: Scene) -> Diagnostic | None:
    """Prologues that are Turtle, updates, a second query."""
    if scene.upper in _UPDATES and "SELECT" in scene.expected and not scene.in_pattern:
        return scene.problem(
            "not-a-query", f"{scene.token.text} is an update, not a query.", "Push data to streams and graphs instead."
        )
    if scene.token.kind == "LANGTAG" and scene.token.text.lower() in ("@prefix", "@base"):
        keyword = scene.token.text[1:].upper()
        return scene.problem(
            "turtle-prologue",
            f"{scene.token.text} is Turtle.",
            f"Write {keyword}, without a dot.",
            fix=scene.instead(keyword),
        )
    before = scene.before()
    if scene.inside("Prefix", "Base"):
        if scene.expected == {"PNAME_NS"} and scene.token.kind in ("WORD", "PNAME_LN"):
            name = scene.token.text.partition(":")[0]
            return scene.problem(
                "bad-prefix",
                "A prefix ends with a colon and has nothing after it.",
                f"Write PREFIX {name}: <...>.",
                fix=scene.instead(f"{name}:"),
            )
        if scene.expected == {"IRIREF"}:
            return scene.problem(
                "bad-iri", f"Found {found_words(scene.token)} where an IRI was expected.", "Write <http://...>."
            )
    if before is not None and before.text == "." and scene.expected >= {"PREFIX", "SELECT"}:
        return scene.problem(
            "turtle-prologue",
            "A declaration has no dot after it.",
            "Remove it.",
            start=before,
            fix=scene.instead("", before),
        )
    if scene.token.text == "." and scene.expected >= {"PREFIX", "SELECT"}:
        return scene.problem(
            "turtle-prologue", "A declaration has no dot after it.", "Remove it.", fix=scene.instead("")
        )
    if scene.token.key == "REGISTER" and before is not None and scene.inside("Unit") and "END" in scene.expected:
        return scene.problem("two-queries", "One text holds one query.", "Register the second one by itself.")
    if scene.token.text == ";" and "END" in scene.expected:
        return scene.problem("unexpected", "A query has no semicolon after it.", "Remove it.", fix=scene.instead(""))
    return None


def trap_registration(scene: Scene) -> Diagnostic | None:
    """A missing kind, name or AS."""
    if not scene.inside("Register"):
        return None
    token, before = scene.token, scene.before()
    if before is not None and before.key == "REGISTER":
        form = "STREAM" if token.key == "CONSTRUCT" else "QUERY"
        return scene.problem(
            "missing-kind",
            f"Found {found_words(token)} where QUERY or STREAM was expected.",
            f"Write REGISTER {form} name AS.",
            fix=scene.added(f"{form} ") if token.kind in ("WORD", "IRIREF") and token.key != "CONSTRUCT" else None,
        )
    if scene.inside("Name") and "WORD" in scene.expected and "IRIREF" in scene.expected:
        return scene.problem(
            "missing-name",
            f"Found {found_words(token)} where a name was expected.",
            "A name is a word or an IRI, without quotes.",
        )
    if "AS" in scene.expected:
        if before is not None and before.key == "AS":
            return scene.problem(
                "missing-name", "The query has no name.", "Write REGISTER QUERY name AS.", start=before
            )
        if token.key in (*_FORMS, "PREFIX", "BASE"):
            return scene.problem(
                "missing-as",
                f"AS is missing before {token.text}.",
                "Write REGISTER QUERY name AS.",
                fix=scene.added("AS "),
            )
        if token.key == "EVERY":
            return scene.problem(
                "unexpected", "EVERY needs COMPUTE before it.", "Write COMPUTE EVERY 10s.", fix=scene.added("COMPUTE ")
            )
        if token.kind == "WORD" and (after := scene.after()) is not None and after.key in ("AS", "COMPUTE", "COMPUTED"):
            return scene.problem("bad-name", "A name is one word.", "Use letters, digits, _ and -, or an <IRI>.")
        if token.text in ("-", ".", "/", ":") or token.kind == "SIGNED":
            return scene.problem(
                "bad-name",
                f"{found_words(token)} cannot be part of a name.",
                "Use letters, digits, _ and -, or an <IRI>.",
            )
    return None


def trap_window(scene: Scene) -> Diagnostic | None:
    """Windows that are missing, or say what no window here says."""
    token, before = scene.token, scene.before()
    if scene.inside("Stream", "NamedWindow") and scene.expected == {"["}:
        return scene.problem(
            "missing-window",
            "The stream has no window.",
            "Write [RANGE 10s STEP 5s] after it.",
            fix=scene.instead("[RANGE 10s STEP 5s]")
            if token.kind == "ANON"
            else scene.added(" [RANGE 10s STEP 5s]", behind=before),
        )
    if scene.inside("NamedWindow") and "ON" in scene.expected:
        return scene.problem(
            "missing-on",
            f"Found {found_words(token)} where ON was expected.",
            "Write FROM NAMED WINDOW <w> ON <stream> [RANGE PT10S STEP PT5S].",
        )
    if not scene.inside("Window"):
        return None
    if before is not None and before.text == "[":
        return _extent(scene)
    if token.kind in ("DECIMAL", "DOUBLE") and scene.expected & {"INTEGER"}:
        return scene.problem(
            "bad-duration", f"{token.text} is not a whole number.", "Use a smaller unit: 1500ms instead of 1.5s."
        )
    if token.kind == "SIGNED":
        return scene.problem("bad-duration", f"{token.text} has a sign.", "Durations and counts have none.")
    if token.kind == "WORD" and before is not None and before.kind == "INTEGER" and "]" in scene.expected:
        return scene.problem(
            "bad-count",
            f"A window that counts has no unit of time, and {found_words(token)} is one.",
            "Write [RANGE TRIPLES 10 STEP 5].",
        )
    if scene.inside("Range", "Duration") and before is not None and before.kind == "INTEGER":
        return scene.problem(
            "missing-unit",
            f"{before.text} has no unit.",
            f"Write {before.text}s for seconds.",
            start=before,
            fix=scene.instead(f"{before.text}s", before),
        )
    if token.text == "," or scene.upper in ("EVERY", "BY", "SLIDING", "ADVANCE", "HOP"):
        return scene.problem(
            "unexpected",
            f"Found {found_words(token)} where STEP was expected.",
            "Write [RANGE 10s STEP 5s].",
            fix=_step(scene),
        )
    if token.text in (")", "}", ">"):
        return scene.problem(
            "unexpected",
            f'Found "{token.text}" where "]" was expected.',
            "A window ends with ].",
            fix=scene.instead("]") if "]" in scene.expected else None,
        )
    return None


def _step(scene: Scene) -> Fix | None:
    if "STEP" not in scene.expected:
        return None
    if scene.token.text != ",":
        return scene.instead("STEP")
    after = scene.after()
    return scene.instead("" if after is not None and after.key == "STEP" else " STEP")


def _extent(scene: Scene) -> Diagnostic:
    token = scene.token
    usual = "Write [RANGE 10s STEP 5s] or [RANGE TRIPLES 10]."
    if scene.upper in ("NOW", "FROM"):
        return scene.problem(
            "unsupported-window",
            "A window is told by its length, backwards from now; windows in the past are not supported.",
            "Write [RANGE 10s STEP 1s].",
        )
    if scene.upper == "ALL":
        return scene.problem("unsupported-window", "A window that never forgets is not supported.", usual)
    if token.key == "TRIPLES":
        return scene.problem(
            "missing-range", "RANGE is missing before TRIPLES.", "Write [RANGE TRIPLES 10].", fix=scene.added("RANGE ")
        )
    if token.kind == "INTEGER" or scene.upper.startswith("PT"):
        return scene.problem(
            "missing-range", f"RANGE is missing before {token.text}.", usual, fix=scene.added("RANGE ")
        )
    hint = did_you_mean(scene) or usual
    return scene.problem(
        "unexpected", f"Found {found_words(token)} where RANGE or ELEMENTS was expected.", hint, fix=meant(scene)
    )


def trap_dataset(scene: Scene) -> Diagnostic | None:
    """FROM and STREAM where they do not belong, and IRIs without brackets."""
    token, before = scene.token, scene.before()
    if token.key == "FROM" and not scene.inside("Window"):
        if scene.inside("SubSelect"):
            return scene.problem(
                "misplaced-from", "A sub-SELECT has no FROM.", "Move it to the outer query, before WHERE."
            )
        return scene.problem("misplaced-from", "FROM stands before WHERE.", "Move it there.")
    if token.key == "STREAM":
        if scene.in_pattern:
            return scene.problem(
                "misplaced-stream",
                "Streams are declared before WHERE.",
                "Write FROM STREAM <s> [RANGE 10s STEP 5s] there.",
            )
        if before is not None and before.key != "FROM" and "FROM" in scene.expected:
            return scene.problem(
                "missing-from",
                "FROM is missing before STREAM.",
                "Write FROM STREAM <s> [...].",
                fix=scene.added("FROM "),
            )
    if before is not None and before.key == "FROM" and token.key == "WINDOW":
        return scene.problem(
            "missing-named", "A window is a named graph.", "Write FROM NAMED WINDOW.", fix=scene.added("NAMED ")
        )
    if token.kind in ("WORD", "STRING") and scene.inside("Dataset") and scene.expected >= {"IRIREF", "PNAME_LN"}:
        return scene.problem(
            "bad-iri", f"Found {found_words(token)} where an IRI was expected.", "Write <http://...> or prefix:name."
        )
    if token.text == "[" and "FROM" in scene.expected and "IRIREF" not in scene.expected:
        return scene.problem("missing-stream", "Only a stream has a window.", "Write FROM STREAM <s> [...].")
    return None

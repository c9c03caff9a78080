"""The language: C-SPARQL and RSP-QL texts become `ContinuousQuery` objects, or a `LanguageError` says why not.

    from csparql_spark.language import parse, show

    query = parse("REGISTER QUERY Hot AS SELECT ?s FROM STREAM <http://ex.org/t> [RANGE 30s STEP 5s] { ?s ?p 1 }")
    query.windows, query.body, query.algebra
    parse(show(query)) == query
"""

from csparql_spark.language.describe import describe
from csparql_spark.language.errors import LanguageError
from csparql_spark.language.parser import parse
from csparql_spark.language.printing import show
from csparql_spark.language.query import ContinuousQuery, Window

__all__ = ["ContinuousQuery", "LanguageError", "Window", "describe", "parse", "show"]

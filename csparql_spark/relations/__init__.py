"""Relations over integers, as columns. They know nothing of RDF.

- `rows`  sets of triples of ids: sorted, distinct, with differences
"""

"""Relations over integers, as columns. They know nothing of RDF.

- `rows`   sets of triples of ids: sorted, distinct, with differences
- `keys`   triples packed into one integer, in any of four orders
- `sieve`  holds back keys that are not in a set
- `runs`   a sorted map from integers to tags, in which expired rows are no longer there
- `graph`  tagged triples, found by any of their places
- `tally`  how many derivations there are of each triple with each tag
"""

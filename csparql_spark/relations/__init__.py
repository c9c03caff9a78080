"""Relations over integers, as columns. They know nothing of RDF.

The life of a tuple:

1. *Fresh.* It is added with a tag, the instant at which it stops holding, to a run of its own, so that a search can
   look at what is new, at what was there before, or at both. Added again, it has the union of its tags: it holds until
   the later of them. (Where tags count derivations instead, the union is their sum, and no instant comes.)
2. *Settled.* When everything that follows from what is new has been found, the fresh run is merged into the sorted runs
   of those that came before; from then on it is one of many, found by any of its places.
3. *Gone.* When its instant has come, no search returns it: nobody is told, nothing is moved. Its memory is given back
   when half of a run is dead. Taken back before its time, it is removed at once, and those who follow the graph are
   told.

- `rows`     sets of triples of ids: sorted, distinct, with differences
- `keys`     triples packed into one integer, in any of four orders
- `records`  rows of several columns as one integer each
- `tags`     what a tag is: until when a row holds, how often it was derived, or both
- `runs`     a sorted map from integers to tags, in which expired rows are no longer there
- `graph`    tagged triples, found by any of their places
- `union`    two graphs that are searched as one
- `links`    what one predicate's triples compose to
- `joins`    the ways to match some patterns in a graph, as columns
- `predicates` facts by their predicates
- `changes`  what makes another graph of a graph: signed, tagged facts
- `calendar` facts by the instant at which they cease
- `moving`   a graph with a journal of its changes, for those who follow it
- `tally`    how many derivations there are of each triple with each tag
"""

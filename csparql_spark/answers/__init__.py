"""Answers: what a query says at an instant, found in two ways that say the same.

- `plan`         a body, written again over ids: what both ways begin with
- `over_ids`     how a body is written so, its expressions among it
- `patterns`     triple patterns, and the order in which they are joined
- `negated`      negated property sets, link by link
- `graph_blocks` what each named graph answers by itself
- `expressions`  expressions over ids: variables are read through functions
- `functions`    these functions, and those of ours in place of Oxigraph's

Matched anew, in a store that is kept in step with a dataset:

- `snapshot`     the store, and what a plan says of it
- `cells`        rows of ids, out of the text that the store answers with
- `relevant`     which triples can matter to a plan: the others are left out
- `products`     how many solutions there may be: what must not be begun, and what is done apart
- `forked`       in a process of its own, where it can be ended
- `confinement`  what the kernel holds such a process to

Maintained, matches that move with the windows:

- `incremental`  the evaluation of one query
- `translation`  a body, translated into the algebra
- `steps`        what property paths become in it
- `algebra`      its nodes
- `operators`    how they are run, over columns
- `tables`       these columns: rows of ids, each with a tag
- `matches`      the matches of basic graph patterns, as they come and go
- `graph_scan`   those of a pattern that the graph itself is a table of
- `semijoin_filter`   triples that nothing can be made of yet, kept out of the graph
- `shared_templates`  patterns that differ in constants only, and what is new for all of them
- `match_rows`  the rows that all of them keep, in one map
- `row_journal`  what becomes of them, for whoever asked to be told
- `row_filters`  which rows which of them keep
- `paths`        what is reached by paths that repeat their steps, kept closed
- `computing`    expressions of rows, by Oxigraph, once for each tuple of terms
- `plain_numbers`  expressions of plain numbers, by columns
- `grouping`     GROUP BY and its aggregates, over columns
- `ordering`     the rows of an answer in their order
- `few_rows`     the same for a handful of them
- `maintained`   the operators again, as they answer with what has come and gone
- `ranks`        the order of terms, kept from one answer to the next
- `nodes`        the plan as a tree, with what each of its parts gave and took

For both:

- `limits`       what one query may have of rows, time and memory
- `excess`       what is said of work that needs more
- `deadline`     the time that is left of an answer that has been begun
- `arrears`      what answers take that are each in time, and together are not
- `zones`        which points in time can be compared
- `values`       what literals are worth
- `aggregates`   one term out of a bag of terms
- `order`        the order of terms
- `construct`    graphs as answers
- `bag_difference`  what is new, and what has ceased
- `bag_union`    rows of several answers together
- `delta`        what changes from one answer to another one
- `delta_bytes`  that as bytes
- `last_answer`  what was answered last, as an answer and what has changed since
- `stamps`       when a triple came
- `bindings`     answers as columns, and as bytes
- `batch_bytes`  the bytes of a table, as Arrow writes them
- `media_types`  what answers and graphs can be written as
- `row_text`, `graph_text`   tables and graphs as text, piece by piece
- `formats`      answers in the formats of SPARQL and RDF
"""

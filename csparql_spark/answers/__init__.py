"""Answers: what a query says at an instant, found in two ways that say the same.

- `plan`, `over_ids`       a body, written again over ids; `patterns`, `expressions`, `functions` what that needs
- `snapshot`               matched anew in a store that is kept in step with a dataset; `relevant` what can matter to
                           it, `products` what must not be begun, and what is done `apart`, where it can be ended
- `incremental`            maintained matches, and the algebra over them: `translation` of a body (and `steps` of its
                           paths) into `algebra`, run by `operators` over `tables`; `matches` and `paths` that move,
                           `computing` and `plain` for expressions, `grouping`, `ranks`
- `limits`                 what one query may have of rows, time and memory
- `aggregates`, `values`, `order`      one meaning of numbers and of the order of terms, for both
- `construct`, `changes`, `stamps`     graphs as answers, what is new or has ceased, when a triple came
- `bindings`, `formats`    answers as columns, as bytes, and as the formats of SPARQL and RDF
"""

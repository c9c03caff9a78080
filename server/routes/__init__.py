"""Routes: what can be asked and told over HTTP, one module for each thing.

- `streams`, `queries`, `graphs`, `rules`, `observers`   what is kept, and how it is made and deleted
- `registration`  how the text of a query becomes an entry of the log
- `description`   what there is to say of a query
- `pausing`       a query answers no more, until it is told to
- `answers`, `events`    what a query said, instant by instant or in ranges; the answers of many as they come
- `sparql`        questions that are asked once
- `check`, `vocabulary`  what is wrong with a text, and the words that its writer may want
- `explain`, `why`, `timeline`, `measures`   how a query is answered, why a triple holds, what came when, what it costs
- `health`, `metrics`    whether answers will come; how the server does
- `console`       the page for browsers
- `knowledge`     the background graphs as clients of rsp-services know them
- `descriptors`   streams and /sparql, described in RDF
"""

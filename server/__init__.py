"""The web process: requests become log entries, and answers become responses. It has no JVM and evaluates nothing.

    PUT /queries/q ─▶ queries ─┐                                            ┌─▶ answers ─▶ GET /queries/q/answers
    PUT /streams/s ─▶ streams ─┼─▶ backend ─▶ log … engine … answer store ──┤
    POST /streams/s ─▶ streams ─┘                                           └─▶ fanout ─▶ subscription ─▶ SSE

- `settings`      one frozen value, that of the whole server
- `process`       the process: its socket, its signals, its end
- `connections`   HTTP, as cheroot speaks it for this server
- `front`         one thread that accepts, reads and waits for all connections
- `door`          accepts connections while there are places
- `limits`        what a connection may take of time and room
- `framing`       where a request ends, read in one way
- `wire`          the two directions of a connection
- `wakeup`        how a thread that waits for connections is interrupted
- `shares`        how many connections there may be, and of one client
- `addresses`     who a client is, when a proxy speaks for it
- `app`           the application: routes put together
- `security`      who may do what, decided before any route is asked
- `scopes`        what a request must be allowed to do, by its route and method
- `sessions`      browsers that have told a token once
- `attempts`      who tells wrong tokens must wait
- `problems`      whatever goes wrong, as problem documents
- `names`         names in URLs, and the IRIs they make
- `bodies`        the bytes of a request, whole or not at all
- `backend`       what is opened once in a process
- `streams`, `queries`, `graphs`, `rules`      what is kept, and how it is made and deleted
- `answers`       what a query said, instant by instant or in ranges
- `sparql`        questions that are asked once
- `pushing`       from triples to an entry of the log, whoever brought them
- `mqtt`          the messages of a broker's topics, pushed into streams
- `registering`   how the text of a query becomes an entry of the log
- `pausing`       a query answers no more, until it is told to
- `describing`    what there is to say of a query
- `lengths`       lengths of time in requests
- `derived`       the streams that queries make
- `readers`       which queries read what
- `instants`      what a query said at one instant, put together and spelled for subscribers
- `spelling`      an answer in the format that a client asks for
- `events`        the answers of many queries over one connection
- `event_ids`     where a client is in the order of all answers, and in which past of the log
- `fanout`        looks for what is new, and spells each answer once for all subscribers
- `subscription`  one subscriber: a cursor, and the events that follow it
- `roster`        which queries there are, and how they stand, as subscribers are told of it
- `delivery`      one thread that writes to the connections of all subscribers
- `forgetting`    lets the store forget
- `observers`     the routes of those whom the server calls
- `webhooks`      calls them, one POST for each answer, in order
- `calling`       one call, and whom the server may call
- `health`        whether answers will come
- `explain`       how a query is read and answered
- `why`           why a triple holds
- `measures`      what a query has cost, point by point
- `metrics`       how the server does, for Prometheus
- `timeline`      when elements came, what is missing, and the last elements of a stream
- `console`       the page for browsers
- `check`         what is wrong with a text, told without doing anything
- `vocabulary`    the words that somebody who writes a query may want
- `knowledge`     the background graphs as clients of rsp-services know them
- `descriptors`   streams and /sparql, described in RDF
- `openapi`       the description of all routes for programs, which is the file openapi.json
- `documents`     JSON in bodies, within bounds
- `room`          how many streams, queries, graphs and rule sets there may be
"""

"""The web process: requests become log entries, and answers become responses. It has no JVM and evaluates nothing.

    PUT /queries/q ─▶ queries ─┐                                            ┌─▶ answers ─▶ GET /queries/q/answers
    PUT /streams/s ─▶ streams ─┼─▶ backend ─▶ log … engine … answer store ──┤
    POST /streams/s ─▶ streams ─┘                                           └─▶ fanout ─▶ subscription ─▶ SSE

- `settings`      one frozen value
- `process`       the process: its socket, its signals, its end
- `connections`   HTTP, as cheroot speaks it for this server
- `app`           the application: routes put together
- `security`      who may do what, decided before any route is asked: `scopes`, `sessions`, `attempts`
- `problems`      whatever goes wrong, as problem documents
- `names`         names in URLs, and the IRIs they make
- `bodies`        the bytes of a request, whole or not at all
- `backend`       what is opened once in a process
- `streams`, `queries`, `answers`, `graphs`, `rules`, `health`      the routes
- `registering`   how the text of a query becomes an entry of the log
- `derived`       the streams that queries make
- `readers`       which queries read what
- `instants`      what a query said at one instant, put together and spelled for subscribers
- `spelling`      an answer in the format that a client asks for
- `events`        the answers of many queries over one connection
- `fanout`        looks for what is new, and spells each answer once for all subscribers
- `subscription`  one subscriber: a cursor, and the events that follow it
- `roster`        which queries there are, and how they stand, as subscribers are told of it
- `delivery`      one thread that writes to the connections of all subscribers
- `forgetting`    lets the store forget
- `observers`     the routes of those whom the server calls; `webhooks` calls them, `calling` says whom it may call
- `knowledge`     the background graphs as clients of rsp-services know them
- `descriptors`   streams and /sparql, described in RDF
- `openapi`       the description of all routes for programs, which is the file openapi.json
- `documents`     JSON in bodies, within bounds
- `room`          how many streams, queries, graphs and rule sets there may be
"""

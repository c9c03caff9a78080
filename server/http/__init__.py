"""HTTP: connections, requests and their parts.

- `front`         one thread that accepts, reads and waits for all connections
- `door`          accepts connections while there are places
- `shares`        how many connections there may be, and of one client
- `addresses`     who a client is, when a proxy speaks for it
- `limits`        what a connection may take of time and memory
- `framing`       where a request ends, read in one way
- `wire`          the two directions of a connection
- `wakeup`        how a thread that waits for connections is interrupted
- `connections`   HTTP, as cheroot speaks it for this server
- `security`      who may do what, decided before any route is asked
- `access`, `login`, `origins`   whose request it is; how a browser tells; whose page it comes from
- `scopes`        what a request must be allowed to do, by its route and method
- `sessions`      browsers that have told a token once
- `attempts`      who tells wrong tokens must wait
- `bodies`, `documents`, `forms`   the bytes of a request, whole or not at all; JSON and forms in them, within bounds
- `lengths`, `names`      lengths of time in requests; names in URLs, and the IRIs they make
- `conditions`  on which version of a thing a request insists
- `negotiation`   an answer in the format that a client asks for
- `holdings`      what responses hold until their clients have taken them
- `problems`      whatever goes wrong, as problem documents
"""

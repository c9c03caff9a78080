// Queries to begin with: one for each thing that the language can do. They parse as they are; only the streams, and what is
// in them, are somebody's own. `STREAM` stands for a stream of this server, the first one that there is.

export interface Example {
  id: string;
  title: string;
  text: string;
}

export const EXAMPLES: readonly Example[] = [
  {
    id: "window",
    title: "What was said in the last seconds",
    text: `REGISTER QUERY LastSeconds AS
SELECT ?s ?p ?o
FROM STREAM <STREAM> [RANGE 5s STEP 1s]
WHERE { ?s ?p ?o }
`,
  },
  {
    id: "count",
    title: "Count by property, every ten seconds",
    text: `REGISTER QUERY ByProperty AS
SELECT ?property (COUNT(*) AS ?triples)
FROM STREAM <STREAM> [RANGE 1m STEP 10s]
WHERE { ?s ?property ?o }
GROUP BY ?property
ORDER BY DESC(?triples)
`,
  },
  {
    id: "new",
    title: "Only what is new",
    text: `REGISTER QUERY WhatIsNew AS
SELECT ISTREAM ?s ?class
FROM STREAM <STREAM> [RANGE 10s STEP 2s]
WHERE { ?s a ?class }
`,
  },
  {
    id: "construct",
    title: "A stream made of another one",
    text: `PREFIX ex: <http://example.org/>
REGISTER STREAM Seen AS
CONSTRUCT { ?s ex:seenAs ?class }
FROM STREAM <STREAM> [RANGE 5s STEP 5s]
WHERE { ?s a ?class }
`,
  },
  {
    id: "ask",
    title: "Yes or no: is the stream silent?",
    text: `REGISTER QUERY Silent AS
ASK
FROM STREAM <STREAM> [RANGE 10s STEP 5s]
WHERE { FILTER NOT EXISTS { ?s ?p ?o } }
`,
  },
  {
    id: "entailment",
    title: "With what follows by RDFS",
    text: `REGISTER QUERY Things USING ENTAILMENT rdfs AS
SELECT ?thing ?class
FROM STREAM <STREAM> [RANGE 30s STEP 5s]
WHERE { ?thing a ?class }
`,
  },
];

// "Copy as": the same answers, from a shell or a program.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { queryPath } from "../api";
import { copy } from "./notices";

const quoted = (text: string): string => JSON.stringify(text);

/** Snippets for a query, that run as they are (where the server wants a token, it is taken from the environment). */
export function snippets(name: string, secured: boolean, origin = location.origin): [title: string, text: string][] {
  const url = `${origin}${queryPath(name)}/answers`;
  const header = secured ? ` -H "Authorization: Bearer $CSPARQL_TOKEN"` : "";
  return [
    ["curl, the newest answer", `curl -s${header} -H 'Accept: application/sparql-results+json' '${url}'`],
    ["curl, as answers come", `curl -sN${header} -H 'Accept: text/event-stream' '${url}'`],
    ["Python", `${secured ? "import os\n\n" : ""}from csparql_spark.client import Client

client = Client(${quoted(origin)}${secured ? ', token=os.environ["CSPARQL_TOKEN"]' : ""})
for answer in client.subscribe(${quoted(name)}):
    print(answer.at, answer.rows)
`],
    ["EventSource", `const events = new EventSource(${quoted(url)});
events.addEventListener("answer", (event) => {
  const { at, results, triples } = JSON.parse(event.data);
  console.log(new Date(at), results ?? triples);
});
`],
  ];
}

export function CopyAs({ name, secured }: { name: string; secured: boolean }): JSX.Element {
  const place = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const elsewhere = (event: Event): void => {
      if (place.current?.open && !place.current.contains(event.target as Node)) place.current.open = false;
    };
    document.addEventListener("click", elsewhere);
    document.addEventListener("focusin", elsewhere);
    return () => {
      document.removeEventListener("click", elsewhere);
      document.removeEventListener("focusin", elsewhere);
    };
  }, []);
  const end = (): void => {
    if (!place.current) return;
    place.current.open = false;
    place.current.querySelector("summary")?.focus();
  };
  return (
    <details class="menu" ref={place} onKeyDown={(event) => event.key === "Escape" && end()}>
      <summary class="button">Copy as</summary>
      <ul>
        {snippets(name, secured).map(([title, text]) => (
          <li key={title}><button type="button" class="plain" onClick={() => { end(); void copy(text, title); }}>{title}</button></li>
        ))}
      </ul>
    </details>
  );
}

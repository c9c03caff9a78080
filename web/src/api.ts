// The server, as functions. Whatever goes wrong is a Problem, whose message is a sentence to be shown as it is.
//
//     const { queries } = await get<{ queries: QueryInfo[] }>("/queries");
//     await call("PUT", queryPath("HotRooms"), { body: text, type: SPARQL });
//
// Paths are of this origin, always.

import type { Checked, Mistake, Session } from "./types";
import { Store } from "./store";

export const SPARQL = "application/sparql-query";

export class Problem extends Error {
  /** `status` is 0 when there was no response at all. */
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly errors: Mistake[] = [],
  ) {
    super(message);
  }
}

/** Who we are to the server; undefined until it has told. */
export const session = new Store<Session | undefined>(undefined);

/** Whether the last request reached the server. */
export const reached = new Store(true);

export const mayNot = (scope: string, now: Session | undefined = session.value): boolean =>
  now !== undefined && now.secured && !now.scopes.includes(scope) && !now.scopes.includes("admin");

export interface Asked {
  body?: string | Blob | ArrayBuffer;
  type?: string;
  accept?: string;
  /** The version that is to be replaced, or deleted: only if that is what there is. */
  match?: number;
  signal?: AbortSignal;
}

export async function call(method: string, path: string, asked: Asked = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: asked.accept ?? "application/json" };
  if (asked.type) headers["Content-Type"] = asked.type;
  if (asked.match !== undefined) headers["If-Match"] = `"${asked.match}"`;
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body: asked.body, signal: asked.signal, cache: "no-store" });
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    reached.set(false);
    throw new Problem("The server does not answer. It may be starting again.", 0, "unreachable");
  }
  reached.set(true);
  if (response.ok) return response;
  if (response.status === 401) void lookAtSession();
  throw await problemOf(response);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await call("GET", path, { signal })).json() as Promise<T>;
}

export async function text(path: string, accept: string, signal?: AbortSignal): Promise<string> {
  return (await call("GET", path, { accept, signal })).text();
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const told = (await response.json()) as { detail?: string; code?: string; errors?: Mistake[]; title?: string };
    const message = told.detail ?? told.title ?? response.statusText;
    return new Problem(message, response.status, told.code ?? "", told.errors ?? []);
  } catch {
    return new Problem(`The server answered ${response.status} ${response.statusText}.`, response.status, "");
  }
}

/** Asks who we are. A server that has no sessions is open. */
export async function lookAtSession(): Promise<void> {
  try {
    session.set(await get<Session>("/session"));
  } catch (error) {
    if (error instanceof Problem && error.status === 404) session.set({ secured: false, scopes: [] });
    else if (!(error instanceof Problem && error.status === 0)) throw error;
  }
}

export async function check(body: string, kind: "query" | "question" | "rules", name: string, signal?: AbortSignal, match?: number): Promise<Checked> {
  const asked = new URLSearchParams({ kind });
  if (name) asked.set("name", name);
  const response = await call("POST", `/check?${asked}`, { body, type: "text/plain", signal, match });
  return response.json() as Promise<Checked>;
}

const inPath = encodeURIComponent;
export const queryPath = (name: string): string => `/queries/${inPath(name)}`;
export const streamPath = (name: string): string => `/streams/${inPath(name)}`;
export const rulesPath = (name: string): string => `/rules/${inPath(name)}`;
export const graphPath = (iri: string): string => `/graphs?graph=${inPath(iri)}`;
export { sentence } from "./sentence";

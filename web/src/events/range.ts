// Ranges: answers that the server keeps, asked for as changes.
//
//     await newest("HotRooms")                              // what changed at the newest instant, or a sentence why there is none
//     await range("HotRooms", 17_000)                       // the whole of that instant, and what changed at each one after
//     await heldAt("HotRooms", 17_000, signal)              // that instant, with what changed at it

import { call, get, queryPath } from "../api";
import type { Told } from "./answer";
import type { ToldChange } from "./change";
import { EMPTY, foldedRange, type Held } from "./fold";

export const MOST_INSTANTS = 1000; // the server tells no more at once

export type ToldInstant = Told | ToldChange | { problem: string };

/** What changed at the newest instant, or at another one: a whole, if none is before it. */
export async function newest(name: string, at?: number, signal?: AbortSignal): Promise<Told | ToldChange | string> {
  const response = await call("GET", `${queryPath(name)}/answers?changes=all${at === undefined ? "" : `&at=${at}`}`, { signal });
  if (response.status === 204) return response.headers.get("X-CSPARQL-Status") ?? "waiting for the first instant";
  return response.json() as Promise<Told | ToldChange>;
}

/** Of the query as it is, or of a version of it. */
export const range = (name: string, from: number, to?: number, signal?: AbortSignal, version?: number): Promise<ToldInstant[]> =>
  get(`${queryPath(name)}/answers?changes=all&from=${from}${to === undefined ? "" : `&to=${to}`}&limit=${MOST_INSTANTS}${version === undefined ? "" : `&version=${version}`}`, signal);

export async function heldAt(name: string, at: number, signal: AbortSignal): Promise<Held> {
  const told = await newest(name, at, signal);
  if (typeof told === "string") return EMPTY;
  return foldedRange(EMPTY, "since" in told ? await range(name, told.since, at, signal) : [told]).held;
}

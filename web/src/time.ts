// Times for people: in the zone of the browser, with the exact instant for whoever asks (in a `title`).

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const DAY = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "2-digit", day: "2-digit" });
const ZONE = new Intl.DateTimeFormat("en", { timeZoneName: "short", hour: "2-digit" });

/** The zone that times are shown in: "CET", "UTC". */
export const zone = (at = Date.now()): string =>
  ZONE.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";

/** The time of day; of another day with its date; milliseconds only if there are any. */
export function clock(at: number): string {
  const time = new Date(at);
  const part = at % 1000 ? `.${String(((at % 1000) + 1000) % 1000).padStart(3, "0")}` : "";
  const today = DAY.format(time) === DAY.format(Date.now());
  return `${today ? "" : `${DAY.format(time)} `}${CLOCK.format(time)}${part}`;
}

/** The instant in full, as it may be sent back to the server. */
export const exact = (at: number): string => {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? String(at) : `${time.toISOString()} (${at} ms, shown in ${zone(at)})`;
};

/** A length of time as a query writes it: 90s, 5m, 250ms. */
export function length(milliseconds: number): string {
  for (const [unit, size] of [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1000]] as const)
    if (milliseconds && milliseconds % size === 0) return `${milliseconds / size}${unit}`;
  return `${milliseconds}ms`;
}

/** About how long: 0.4 s, 12 s, 3 min, 2 h, 5 d. */
export function about(milliseconds: number): string {
  const seconds = Math.abs(milliseconds) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129_600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

const NUMBER = new Intl.NumberFormat();
export const count = (number: number): string => NUMBER.format(number);
export const many = (number: number, one: string, several = `${one}s`): string =>
  `${count(number)} ${number === 1 ? one : several}`;

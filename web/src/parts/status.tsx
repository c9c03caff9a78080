// The status bar: what the engine does, how far behind it is, and whether this browser hears it.

import type { JSX } from "preact";
import { get, lookAtSession, reached, session } from "../api";
import { connected, type Connected } from "../events/connection";
import { usePolled, useStore } from "../store";
import { about, count, many, zone } from "../time";
import type { Health } from "../types";

const HEALTH: Record<Health["status"], string> = { ok: "good", starting: "wait", behind: "wait", degraded: "bad" };

const HEARD: Record<Connected, [dot: string, text: string]> = {
  idle: ["off", "no live view open"],
  connecting: ["wait", "connecting"],
  open: ["good", "live"],
  lost: ["bad", "connection lost, trying again"],
};

export function StatusBar(): JSX.Element {
  const { value: health } = usePolled((signal) => get<Health>("/health", signal), 3000, []);
  const there = useStore(reached);
  const [dot, text] = HEARD[useStore(connected)];
  const who = useStore(session);
  const engine = health?.engine;
  return (
    <footer class="status" aria-label="Status">
      <span data-testid="engine">
        <i class={`dot ${!there || !health ? "bad" : HEALTH[health.status]}`} />
        {!there ? "server does not answer" : engine ? `engine ${health.status === "starting" ? "starting" : engine.state}${health.status === "behind" ? ", behind" : ""}` : "asking…"}
      </span>
      {there && engine && (
        <span title={`${count(engine.behind)} entries of the log are not read yet`}>
          lag {about(engine.lag_ms)}{engine.behind > 0 ? ` · ${many(engine.behind, "entry", "entries")} behind` : ""}
        </span>
      )}
      {there && health?.preparing && (
        <span data-testid="preparing" title="A large background is being closed under rules. They are answered when that is done; others do not wait for it.">
          preparing {health.preparing.flatMap((one) => one.queries).join(", ")}
        </span>
      )}
      {there && health?.damages !== undefined && (
        <span data-testid="damaged" title={health.damaged?.map((one) => one.reason).join("\n")}>
          <i class="dot bad" />{many(health.damages, "place", "places")} on the disk damaged
        </span>
      )}
      <span data-testid="connection"><i class={`dot ${dot}`} />{text}</span>
      {health && <span class="wide">{many(health.subscribers, "subscriber")}</span>}
      <span class="wide right" title="Times are shown in this zone">{zone()}</span>
      {who?.secured && who.scopes.length > 0 && (
        <button type="button" class="plain right" onClick={() => void fetch("/logout", { method: "POST" }).then(lookAtSession)}>
          Log out
        </button>
      )}
    </footer>
  );
}

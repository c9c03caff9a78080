// What an act came to: a sentence in the corner, told to screen readers, gone after a while. Failures stay until closed.
//
//     await act(() => call("DELETE", queryPath(name)), `${name} is deleted.`);      // true if it went well

import type { JSX } from "preact";
import { sentence } from "../api";
import { Store, useStore } from "../store";

interface Notice {
  id: number;
  text: string;
  wrong: boolean;
}

const notices = new Store<readonly Notice[]>([]);
const SHOWN = 5000;
let last = 0;

export function notify(text: string, wrong = false): void {
  const id = ++last;
  notices.set([...notices.value.slice(-3), { id, text, wrong }]);
  if (!wrong) setTimeout(() => dismiss(id), SHOWN);
}

const dismiss = (id: number): void => notices.set(notices.value.filter((notice) => notice.id !== id));

export async function act(doing: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await doing();
    if (done) notify(done);
    return true;
  } catch (error) {
    notify(sentence(error), true);
    return false;
  }
}

export async function copy(text: string, what: string): Promise<void> {
  await act(() => navigator.clipboard.writeText(text), `${what} is in the clipboard.`);
}

export function Notices(): JSX.Element {
  return (
    <div class="notices" role="status" aria-live="polite">
      {useStore(notices).map(({ id, text, wrong }) => (
        <div class={wrong ? "notice wrong" : "notice"} key={id}>
          <span>{text}</span>
          <button type="button" class="plain" aria-label="Close" onClick={() => dismiss(id)}>×</button>
        </div>
      ))}
    </div>
  );
}

// Dialogs: the browser's own, so that focus, Escape and screen readers are its business. A dialog belongs to the page
// that it was opened on: who goes to another one has closed it, and what it asked is answered with no.
//
//     if (await sure("Delete the query HotRooms?", "Its subscribers are told that it ended.", "Delete")) …

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { route } from "../route";
import { Store, useStore } from "../store";

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }): JSX.Element {
  const place = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    place.current?.showModal();
    const page = route.value.path.join("/");
    return route.listen(() => {
      if (route.value.path.join("/") !== page) place.current?.close();
    });
  }, []);
  return (
    <dialog ref={place} aria-label={title} onClose={onClose} onClick={(event) => event.target === place.current && place.current?.close()}>
      <div class="dialog">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface Question {
  title: string;
  text: string;
  yes: string;
  answer: (sure: boolean) => void;
}

const question = new Store<Question | null>(null);

export const sure = (title: string, text: string, yes: string): Promise<boolean> =>
  new Promise((answer) => question.set({ title, text, yes, answer }));

export function Questions(): JSX.Element | null {
  const asked = useStore(question);
  if (!asked) return null;
  const end = (answer: boolean): void => {
    asked.answer(answer);
    question.set(null);
  };
  return (
    <Dialog title={asked.title} onClose={() => end(false)}>
      <p>{asked.text}</p>
      <div class="buttons">
        <button type="button" onClick={() => end(false)}>Cancel</button>
        <button type="button" class="danger" onClick={() => end(true)}>{asked.yes}</button>
      </div>
    </Dialog>
  );
}

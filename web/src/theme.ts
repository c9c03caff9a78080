// Dark or light: as the system says, until somebody says otherwise.

import { kept, Store } from "./store";

export type Theme = "system" | "light" | "dark";

const saved = kept<Theme>("theme", "system");
export const theme = new Store<Theme>(saved.read());

export function applyTheme(chosen: Theme = theme.value): void {
  saved.write(chosen);
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  theme.set(chosen);
}

// Mistakes that only have a beginning: parsers of RDF tell where they stopped, and not always.

import type { Mistake } from "../types";

export const rangeText = (mistake: Partial<Mistake> & { message: string }): Mistake => ({ line: 1, column: 1, ...mistake });

// What went wrong, as a sentence to be shown.

export const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The kind of text indexes, which find rows by the terms of a text. */
export const textKind = 'FTS'
export type TextKind = typeof textKind

export function isTextKind(kind: string): kind is TextKind {
  return kind === textKind
}

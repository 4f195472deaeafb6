/** The kind of all text indexes, which find rows by the terms of their texts. */
export const textKind = 'FTS'
export type TextKind = typeof textKind

export function isTextKind(kind: string): kind is TextKind {
  return kind === textKind
}

import { invalidInput, type SheafError, type SourceSpan } from '../../errors.js'

/** Characters of the line shown on each side of the fault. */
const context = 40

/** The line of `text` that holds `at`, and below it a caret under the fault; both indented by two. */
export function excerpt(text: string, at: SourceSpan): string {
  const from = Math.max(text.lastIndexOf('\n', at.offset - 1) + 1, at.offset - context)
  const newline = text.indexOf('\n', at.offset)
  const to = Math.min(newline === -1 ? text.length : newline, at.offset + Math.max(at.length, 1) + context)
  const line = text.slice(from, Math.min(to, at.offset + 2 * context))
  const width = Math.max(1, Math.min(at.length, line.length - (at.offset - from)))
  return `  ${printable(line)}\n  ${' '.repeat(at.offset - from)}${'^'.repeat(width)}`
}

/** A fault in the wording of an expression (code 13), with its place shown. */
export function syntaxError(text: string, at: SourceSpan, message: string, hint?: string): SheafError {
  return invalidInput(`${message}\n${excerpt(text, at)}`, { at, hint })
}

/** Control characters as spaces, so that the caret stays under what it points at. */
function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, ' ')
}

/** Where half of a surrogate pair stands alone, or -1. */
export function strayHalf(text: string): number {
  return text.isWellFormed() ? -1 : text.search(/\p{Surrogate}/u)
}

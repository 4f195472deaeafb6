import { invalidInput, type SheafError, type SourceSpan } from '../../errors.js'

/** Maximum number of characters of the line to show on each side of an error. */
const context = 40

/**
 * Return two lines, indented by two spaces: the line of `text` that contains `at`, and a line with carets below the
 * span.
 */
function excerpt(text: string, at: SourceSpan): string {
  const from = Math.max(text.lastIndexOf('\n', at.offset - 1) + 1, at.offset - context)
  const newline = text.indexOf('\n', at.offset)
  const to = Math.min(newline === -1 ? text.length : newline, at.offset + Math.max(at.length, 1) + context)
  const line = text.slice(from, Math.min(to, at.offset + 2 * context))
  const width = Math.max(1, Math.min(at.length, line.length - (at.offset - from)))
  return `  ${printable(line)}\n  ${' '.repeat(at.offset - from)}${'^'.repeat(width)}`
}

/** Create an `InvalidInput` error for a syntax error, with an excerpt of the text. */
export function syntaxError(text: string, at: SourceSpan, message: string, hint?: string): SheafError {
  return invalidInput(`${message}\n${excerpt(text, at)}`, { at, hint })
}

/** Replace control characters with spaces, so that the caret stays under the error. */
function printable(line: string): string {
  return line.replace(/[^ -~\xa0-\uffff]/g, ' ')
}

/** Return the offset of the first unpaired surrogate of a text. Return -1 if there is none. */
export function strayHalf(text: string): number {
  return text.isWellFormed() ? -1 : text.search(/[\ud800-\udfff]/u)
}

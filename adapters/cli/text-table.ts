/** Shows rows as a table of text. */
import { jsonText } from '../files/json-text.js'
import type { PlainPiece } from '../files/pieces.js'
import { showCounted } from './quantities.js'

/** Number of rows that determine the widths of the columns. Later values are cut to these widths. */
const sampleRows = 1000
/** Maximum width of a column, and the width to which columns may shrink so that a row fits the terminal. */
const widest = 60
const narrowest = 8
const gap = '  '
/** Elements of a list that are shown. */
const shownElements = 4

interface Layout {
  readonly widths: readonly number[]
  readonly isRight: readonly boolean[]
  /** Number of columns that have no room. */
  readonly left: number
}

/**
 * Yield the lines of a table: a header, a rule, the rows, and the number of rows. Reads at most 1,000 rows before the
 * first line. `columns`: width of the terminal; absent: no limit.
 */
export async function* tableLines(
  pieces: AsyncIterable<PlainPiece>,
  columns = Number.POSITIVE_INFINITY,
): AsyncGenerator<string> {
  let names: readonly string[] = []
  let sample: string[][] = []
  let layout: Layout | undefined
  let areNumbers: boolean[] = []
  let count = 0
  function* begin(): Generator<string> {
    layout = layoutOf([names.map(escaped), ...sample], areNumbers, columns)
    yield line(names.map(escaped), layout)
    yield line(
      layout.widths.map(width => '-'.repeat(width)),
      layout,
    )
    for (const cells of sample) yield line(cells, layout)
    sample = []
  }
  for await (const piece of pieces) {
    if (names.length === 0) {
      names = piece.names
      areNumbers = names.map(() => true)
    }
    for (let row = 0; row < piece.length; row++) {
      const values = piece.columns.map(cells => cells[row])
      if (layout === undefined) areNumbers = areNumbers.map((is, i) => is && isNumber(values[i]))
      const cells = values.map(cellText)
      count++
      if (layout !== undefined) yield line(cells, layout)
      else if (sample.push(cells) === sampleRows) yield* begin()
    }
  }
  if (layout === undefined && names.length > 0) yield* begin()
  const hidden = layout?.left ?? 0
  const more =
    hidden === 0 ? '' : `; ${showCounted(hidden, 'column')} more: select columns, or use --format json`
  yield `(${showCounted(count, 'row')}${more})`
}

function isNumber(value: unknown): boolean {
  return value === null || typeof value === 'number' || typeof value === 'bigint'
}

function cellText(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return escaped(value)
  if (Array.isArray(value) && value.length > shownElements && !Array.isArray(value[0])) {
    const [first] = [
      value
        .slice(0, shownElements)
        .map(element => jsonText(element))
        .join(', '),
    ]
    return escaped(`[${first}, … ${value.length}]`)
  }
  return escaped(jsonText(value))
}

const special: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Replace control characters, because a terminal would obey them, and the characters that reverse the direction of text. */
export function escaped(text: string): string {
  // Long texts are cut anyway.
  return text
    .slice(0, 4 * widest)
    .replace(
      /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
      character => special[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
}

function layoutOf(rows: readonly string[][], isRight: readonly boolean[], columns: number): Layout {
  const widths = rows[0]!.map((_, i) =>
    Math.min(
      widest,
      rows.reduce((most, cells) => Math.max(most, widthOf(cells[i]!)), 1),
    ),
  )
  const total = () => widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1))
  while (total() > columns) {
    const most = Math.max(...widths)
    if (most <= narrowest) break
    widths[widths.indexOf(most)] = most - 1
  }
  const all = widths.length
  while (widths.length > 1 && total() > columns) widths.pop()
  return { widths, isRight, left: all - widths.length }
}

function line(cells: readonly string[], { widths, isRight }: Layout): string {
  return widths
    .map((width, i) => {
      const text = cut(cells[i]!, width)
      const blanks = ' '.repeat(width - widthOf(text))
      return isRight[i] === true ? blanks + text : text + blanks
    })
    .join(gap)
    .trimEnd()
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let [shown, used] = ['', 1]
  for (const character of text) {
    used += widthOf(character)
    if (used > width) break
    shown += character
  }
  return `${shown}…`
}

const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u

/** Return the number of places that a text takes on a terminal. */
function widthOf(text: string): number {
  if (/^[ -~…]*$/.test(text)) return text.length
  let width = 0
  for (const character of text) {
    if (/\p{M}|[\u200b-\u200d]/u.test(character)) continue
    width += wide.test(character) ? 2 : 1
  }
  return width
}

/** Runs the command `sheaf diff`. */
import type { ArrowBatch, ChangedBatch, Diff, Namespace, SchemaDifference } from '../../src/index.js'
import { jsonText } from '../files/json-text.js'
import { type PlainPiece, plainPieces } from '../files/pieces.js'
import type { Call } from './arguments.js'
import { Misuse } from './misuse.js'
import { openRoot } from './open-root.js'
import { standardOutput } from './output.js'
import { showCount, showCounted } from './quantities.js'
import { untilStopped } from './stopping.js'
import { escaped } from './text-table.js'

/** Default of `--limit` for text. */
const shownRows = 20

/** Print the difference between two versions of a table. */
export async function showDiff(command: Call<'diff'>): Promise<void> {
  const signal = untilStopped()
  const isJson = (command.format ?? (process.stdout.isTTY ? 'text' : 'json')) === 'json'
  const { table: name, limit = isJson ? Number.POSITIVE_INFINITY : shownRows } = command
  const versions = [versionOf('from', command.from), versionOf('to', command.to)] as const
  await using root: Namespace = await openRoot(command, { signal })
  const diff: Diff = (await root.openTable(name, { signal })).diff(...versions)
  const lines = isJson ? jsonLines(diff, limit, signal) : textLines(diff, limit, signal)
  const target = standardOutput()
  for await (const line of lines) {
    if (!target.write(`${line}\n`)) await new Promise(resume => target.once('drain', resume))
  }
  await new Promise<void>(done => target.end(done))
}

/** Return the number of a version, or the name of a tag. */
function versionOf(operand: string, text: string): number | string {
  if (!/^\d+$/.test(text)) return text
  const version = Number(text)
  if (Number.isSafeInteger(version)) return version
  throw new Misuse(`<${operand}> must be the number of a version or a tag, got ${text}`)
}

async function* jsonLines(diff: Diff, limit: number, signal: AbortSignal): AsyncGenerator<string> {
  yield JSON.stringify({ kind: 'schema', ...(await diff.schema({ signal })) })
  for (const kind of ['added', 'removed'] as const) {
    for await (const row of rows(diff[kind].batches({ signal }), limit, signal)) {
      yield `{"kind":"${kind}","row":${row.json}}`
    }
  }
  for await (const [before, after] of changes(diff, limit, signal)) {
    yield `{"kind":"changed","before":${before.json},"after":${after.json}}`
  }
}

async function* textLines(diff: Diff, limit: number, signal: AbortSignal): AsyncGenerator<string> {
  yield* schemaLines(await diff.schema({ signal }))
  const added = await diff.added.count({ signal })
  const removed = await diff.removed.count({ signal })
  const changed = await diff.changed.count({ signal })
  yield `${showCounted(added, 'row')} added, ${showCount(removed)} removed, ${showCount(changed)} changed`
  for (const [kind, sign, count] of [
    ['added', '+', added],
    ['removed', '-', removed],
  ] as const) {
    for await (const { cells } of rows(diff[kind].batches({ signal }), limit, signal)) {
      yield `${sign} ${[...cells].map(([column, value]) => `${escaped(column)}: ${value}`).join(', ')}`
    }
    if (count > limit) yield `${sign} … ${showCount(count - limit)} more`
  }
  for await (const [before, after] of changes(diff, limit, signal)) {
    const differing = [...after.cells].filter(
      ([column]) => before.cells.has(column) && before.values.get(column) !== after.values.get(column),
    )
    const texts = differing.map(
      ([column, value]) => `${escaped(column)}: ${before.cells.get(column)} → ${value}`,
    )
    yield `~ _rowid: ${after.cells.get('_rowid')}, ${texts.join(', ')}`
  }
  if (changed > limit) yield `~ … ${showCount(changed - limit)} more`
}

function* schemaLines({ added, removed, renamed, retyped }: SchemaDifference): Generator<string> {
  for (const name of added) yield `+ column ${escaped(name)}`
  for (const name of removed) yield `- column ${escaped(name)}`
  for (const { from, to } of renamed) yield `~ column ${escaped(from)} is named ${escaped(to)}`
  for (const { name, from, to } of retyped) yield `~ column ${escaped(name)}: ${from} → ${to}`
}

/** A row as text. */
interface TextRow {
  /** The row as a JSON object. */
  readonly json: string
  /** By column: the value as JSON, and the same text cut and without control characters. */
  readonly values: ReadonlyMap<string, string>
  readonly cells: ReadonlyMap<string, string>
}

async function* rows(
  batches: AsyncIterable<ArrowBatch>,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<TextRow> {
  let left = limit
  if (left === 0) return
  for await (const piece of plainPieces(batches, signal)) {
    for (let row = 0; row < piece.length; row++) {
      yield textRow(piece, row)
      if (--left === 0) return
    }
  }
}

async function* changes(
  diff: Diff,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<readonly [before: TextRow, after: TextRow]> {
  let left = limit
  if (left === 0) return
  for await (const { before, after } of diff.changed.batches({ signal }) as AsyncIterable<ChangedBatch>) {
    const old = rows(only(before), before.numRows, signal)
    for await (const row of rows(only(after), after.numRows, signal)) {
      yield [(await old.next()).value as TextRow, row]
      if (--left === 0) return
    }
  }
}

async function* only(batch: ArrowBatch): AsyncGenerator<ArrowBatch> {
  yield batch
}

/** Longest value that is shown as text. */
const longest = 60

function textRow({ names, columns }: PlainPiece, row: number): TextRow {
  const values = new Map(names.map((name, i) => [name, jsonText(columns[i]![row])]))
  const cells = new Map([...values].map(([name, value]) => [name, shortened(escaped(value))]))
  const members = [...values].map(([name, value]) => `${JSON.stringify(name)}:${value}`)
  return { json: `{${members.join(',')}}`, values, cells }
}

function shortened(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`
}

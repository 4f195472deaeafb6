/** Runs a script record by record and says what became of each. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { SheafError } from '../../../src/errors.js'
import type { Answer, Engine } from './engine.js'
import { printDatafusion, printSqlite } from './print.js'
import { type LogicRecord, parseRecords } from './records.js'
import { Session } from './session.js'
import { NoStatement, Skip } from './skip.js'
import { parseStatement, type Statement } from './statement.js'
import type { Flavour } from './types.js'

export interface Failure {
  readonly record: LogicRecord
  readonly path: string
  /** What the engine did instead. */
  readonly what: string
}

export interface Outcome {
  passed: number
  readonly failures: Failure[]
  /** How many records are not run, by reason. */
  readonly skipped: Map<string, number>
  /** Statements that change no result here: CREATE INDEX, SET. */
  nothing: number
  /** Records for engines of another name. */
  elsewhere: number
}

export function newOutcome(): Outcome {
  return { passed: 0, failures: [], skipped: new Map(), nothing: 0, elsewhere: 0 }
}

export function readScript(path: string): LogicRecord[] {
  const bytes = readFileSync(path)
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
  return parseRecords(text, other => readFileSync(join(dirname(path), other), 'utf8'))
}

/** Runs the records of one script on an engine of its own, and adds what became of them to `outcome`. */
export async function runScript(
  path: string,
  records: readonly LogicRecord[],
  engine: Engine,
  {
    flavour,
    folder,
    outcome,
  }: { readonly flavour: Flavour; readonly folder: string; readonly outcome: Outcome },
): Promise<void> {
  const session = new Session(engine, flavour, folder)
  /** Tables that are not what they should be, because a statement about them was skipped, and for which reason. */
  const spoilt = new Map<string, string>()
  for (const record of records) {
    if (record.elsewhere) {
      outcome.elsewhere++
      continue
    }
    try {
      const statement = parseStatement(record.sql)
      const table = tableOf(statement)
      const reason = table === null ? undefined : spoilt.get(table)
      if (statement.kind === 'create' || statement.kind === 'drop') spoilt.delete(table!)
      else if (reason !== undefined) throw new Skip(reason)
      if (reason !== undefined && statement.kind === 'drop') throw new Skip(reason)
      const answer = await session.run(statement)
      if (statement.kind === 'nothing') outcome.nothing++
      else judge(record, answer, flavour)
      if (statement.kind !== 'nothing') outcome.passed++
    } catch (error) {
      if (error instanceof Skip) {
        const table = changedTable(record.sql)
        if (table !== null) spoilt.set(table, error.reason)
        outcome.skipped.set(error.reason, (outcome.skipped.get(error.reason) ?? 0) + 1)
      } else if (record.fails && isRefusal(error)) {
        outcome.passed++
      } else {
        outcome.failures.push({ record, path, what: String(error instanceof Error ? error.message : error) })
      }
    }
  }
}

/** Whether the engine, or the runner for it, found a fault in the statement; that a function is missing is none. */
function isRefusal(error: unknown): boolean {
  if (error instanceof NoStatement) return true
  return error instanceof SheafError && !error.message.includes('no function named')
}

/** The table a statement reads or changes. */
function tableOf(statement: Statement): string | null {
  switch (statement.kind) {
    case 'nothing':
    case 'values':
      return null
    case 'select': {
      const source = statement.select.from?.source
      return source?.kind === 'table' ? source.name : null
    }
    default:
      return statement.table
  }
}

/** The table, or view, that a statement would have made or changed. */
function changedTable(sql: string): string | null {
  const changes =
    /^\s*(?:create\s+(?:or\s+replace\s+|external\s+)*(?:table|view)(?:\s+if\s+not\s+exists)?|insert\s+into|update|delete\s+from)\s+(\w+)/i
  return changes.exec(sql)?.[1]?.toLowerCase() ?? null
}

/** Throws what is wrong with the answer. */
function judge(record: LogicRecord, answer: Answer, flavour: Flavour): void {
  if (record.fails) throw new Error('an answer where there is none')
  if (record.kind === 'statement') return
  const columns = answer.types.length
  if (record.types.length !== columns) throw new Error(`${columns} columns instead of ${record.types.length}`)
  const got = flavour === 'sqlite' ? sqliteLines(record, answer) : datafusionLines(record, answer)
  const wanted = record.expected.map(line => line.trimEnd())
  if (record.sort !== 'nosort' && flavour === 'datafusion') wanted.sort()
  if (got.join('\n') === wanted.join('\n')) return
  const short = (lines: readonly string[]) => lines.slice(0, 6).join(' | ').slice(0, 200)
  throw new Error(`${short(got)} instead of ${short(wanted)}`)
}

/** One value per line, or how many there are and what they hash to. */
function sqliteLines(record: LogicRecord, { rows }: Answer): string[] {
  let lines = rows.map(row => row.map((value, i) => printSqlite(value, record.types[i]!)))
  if (record.sort === 'rowsort') lines.sort((a, b) => compare(a.join('\n'), b.join('\n')))
  if (record.sort === 'valuesort')
    lines = lines
      .flat()
      .sort(compare)
      .map(line => [line])
  const values = lines.flat()
  if (!/^\d+ values hashing to [0-9a-f]{32}$/.test(record.expected[0] ?? '')) return values
  const hash = createHash('md5')
    .update(values.map(value => `${value}\n`).join(''))
    .digest('hex')
  return [`${values.length} values hashing to ${hash}`]
}

/** One row per line. */
function datafusionLines(record: LogicRecord, { rows, types }: Answer): string[] {
  const lines = rows.map(row =>
    row
      .map((value, i) => printDatafusion(value, types[i]!))
      .join(' ')
      .trimEnd(),
  )
  return record.sort === 'nosort' ? lines : lines.sort()
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

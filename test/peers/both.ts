/** One program, run against Sheaf over HTTP and against LanceDB in a directory: what it is answered must be the same. */
import type { Connection } from '@lancedb/lancedb'
import type * as arrow from 'apache-arrow'
import { expect } from 'vitest'
import type { Lancedb } from './peers.js'

/** What a program has at hand. It awaits each step before the next. */
export interface Asking {
  readonly db: Connection
  readonly lancedb: Lancedb
  readonly release: string
  /** Notes what is answered: the same on both sides, unless the differences have this name. Gives it back. */
  ask<T>(name: string, answer: Promise<T> | T): Promise<T>
  /** Notes that a call is refused, on both sides with words like these. */
  refused(name: string, call: () => unknown, words: RegExp): Promise<void>
}

export type Program = (asking: Asking) => Promise<void>

/** Where both are meant to answer differently, and why. */
export interface Difference {
  readonly why: string
  readonly ours: unknown
  readonly theirs: unknown
  /** Where only one release of the client has the difference. */
  readonly release?: string
  /** Whether LanceDB's engine is answered so, too, when Sheaf is its catalog. Default: the remote client alone. */
  readonly engine?: true
}

/** By `program: answer`. */
export type Differences = Readonly<Record<string, Difference>>

type Answers = Map<string, unknown>

/** What connects to Sheaf: the remote client, or the engine with Sheaf as its catalog. */
export type Kind = 'remote' | 'engine'

/** The answers of both, in plain form, differ exactly where `differences` has them. */
export async function expectBothSame(
  { lancedb, release, kind }: { readonly lancedb: Lancedb; readonly release: string; readonly kind: Kind },
  [name, program]: readonly [string, Program],
  sheaf: Connection,
  local: Connection,
  differences: Differences,
): Promise<void> {
  const theirs = await answersOf(local, program, lancedb, release)
  const ours = await answersOf(sheaf, program, lancedb, release)
  expect([...ours.keys()]).toEqual([...theirs.keys()])
  const wanted: Record<string, unknown> = {}
  const got: Record<string, unknown> = {}
  for (const [key, answer] of theirs) {
    const found = differences[`${name}: ${key}`]
    const isOfClient =
      (kind === 'remote' || found?.engine === true) &&
      (found?.release === undefined || found.release === release)
    const difference = isOfClient ? found : undefined
    if (difference !== undefined) {
      expect({ [key]: answer }, 'LanceDB').toEqual({ [key]: difference.theirs })
      expect(difference.ours, 'a difference').not.toEqual(difference.theirs)
    }
    wanted[key] = difference === undefined ? answer : difference.ours
    got[key] = ours.get(key)
  }
  expect(got).toEqual(wanted)
}

async function answersOf(
  db: Connection,
  program: Program,
  lancedb: Lancedb,
  release: string,
): Promise<Answers> {
  const answers: Answers = new Map()
  const note = (name: string, answer: unknown) => {
    if (answers.has(name)) throw new Error(`two answers are called ${name}`)
    answers.set(name, answer)
  }
  await program({
    db,
    lancedb,
    release,
    async ask(name, answer) {
      try {
        const value = await answer
        note(name, plain(value))
        return value
      } catch (cause) {
        note(name, { refused: (cause as Error).message.split('\n')[0] })
        return undefined as never
      }
    },
    async refused(name, call, words) {
      try {
        note(name, { answered: plain(await call()) })
      } catch (cause) {
        const { message } = cause as Error
        note(name, words.test(message) ? { refused: String(words) } : { refused: message })
      }
    },
  })
  db.close()
  return answers
}

/** Digits in which numbers are compared: sums of float32 may be rounded one way or the other. */
const digits = 4

/** As data that can be compared across releases of apache-arrow, and printed. Schemas and tables with their types. */
export function plain(value: unknown): unknown {
  if (value === undefined) return 'undefined'
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number(value.toPrecision(digits))
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Map) return plain(Object.fromEntries(value))
  if (isSchema(value)) return plainSchema(value)
  if (isTable(value)) {
    const names = value.schema.fields.map(({ name }) => name)
    const columns = names.map(name => [...(value.getChild(name) ?? [])])
    return {
      schema: plainSchema(value.schema),
      rows: Array.from({ length: value.numRows }, (_, row) => columns.map(column => plain(column[row]))),
    }
  }
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, each => plain(each))
  if (Symbol.iterator in value && !('toJSON' in value && !Array.isArray(value) && !isVector(value))) {
    return Array.from(value as Iterable<unknown>, each => plain(each))
  }
  const entries = 'toJSON' in value ? (value as { toJSON(): object }).toJSON() : value
  return Object.fromEntries(Object.entries(entries).map(([name, each]) => [name, plain(each)]))
}

function isVector(value: object): value is arrow.Vector {
  return 'data' in value && 'numChildren' in value
}

function isSchema(value: object): value is arrow.Schema {
  return 'fields' in value && 'metadata' in value && 'dictionaries' in value
}

function isTable(value: object): value is arrow.Table {
  return 'schema' in value && 'getChild' in value && 'numRows' in value
}

function plainSchema(schema: arrow.Schema): unknown {
  const fields = schema.fields.map(plainField)
  return schema.metadata.size === 0 ? fields : { fields, metadata: plain(schema.metadata) }
}

function plainField({ name, type, nullable, metadata }: arrow.Field): unknown {
  const text = `${name}: ${type}${nullable ? '?' : ''}`
  return metadata.size === 0 ? text : { [text]: plain(metadata) }
}

/** Rows of an answer as arrays of the columns that are named. */
export async function rowsOf(
  query: { toArray(): Promise<Record<string, unknown>[]> },
  ...names: string[]
): Promise<unknown[][]> {
  return (await query.toArray()).map(row => names.map(name => plain(row[name])))
}

/** Whether a call is carried out or refused, where both sides say it in words of their own. */
export function accepted(call: Promise<unknown>): Promise<'accepted' | 'refused'> {
  return call.then(
    () => 'accepted',
    () => 'refused',
  )
}

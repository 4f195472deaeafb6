/** The log of a server: one line per request. All fields of a record are written; absent ones are left out. */

import { type Clock, systemClock } from '../../src/primitives/clock.js'
import type { RequestRecord } from '../http/options.js'
import { showSize, showTime } from './quantities.js'

export type LogFormat = 'json' | 'text'

interface LogOptions {
  readonly format: LogFormat
  /** Receives whole lines, line ends included. */
  readonly write: (line: string) => void
  /** Texts that are replaced wherever they occur in an error or a path. */
  readonly secrets?: readonly string[]
  readonly clock?: Pick<Clock, 'now'>
}

/** Make a logger for a server. It never throws: a record that cannot be written in full is written in part. */
export function requestLogger(options: LogOptions): (record: RequestRecord) => void {
  const { format, write, secrets = [], clock = systemClock } = options
  const toLine = format === 'json' ? jsonLine : textLine
  // The longest first: replacing a secret that is the beginning of another would leave the rest of the other one visible.
  const longestFirst = secrets.toSorted((a, b) => b.length - a.length)
  const hide = (text: string) =>
    longestFirst.reduce((hidden, secret) => hidden.replaceAll(secret, '[secret]'), text)
  return record => {
    const { error, ...rest } = record
    const fields = { ...(plain(rest, hide) as Fields) }
    if (error !== undefined) fields.error = describeError(error, hide)
    write(`${escaped(toLine(new Date(clock.now()).toISOString(), fields))}\n`)
  }
}

type Fields = Record<string, unknown>

// ---- the lines

function jsonLine(time: string, fields: Fields): string {
  return JSON.stringify({ time, ...fields })
}

/** Escape control characters above ASCII and line separators. Terminals obey them, and JSON does not escape them. */
function escaped(line: string): string {
  return line.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, control => {
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Format `time status method path`, then all other fields as `name=value`, the error last. */
function textLine(time: string, fields: Fields): string {
  const { status, method, path, error, ...rest } = fields
  const others = Object.entries(rest).map(([name, value]) => `${name}=${textOf(name, value)}`)
  const failed = error === undefined ? [] : [`error=${JSON.stringify(oneText(error as DescribedError))}`]
  return [time, status, method, textOf('path', path), ...others, ...failed].join(' ')
}

/** Format a value. A text with spaces, quotes, or characters that could end a line is quoted. */
function textOf(name: string, value: unknown): string {
  if (typeof value === 'number') {
    if (name.endsWith('Ms')) return showTime(value).replace(' ', '')
    return name.startsWith('bytes') ? showSize(value).replace(' ', '') : String(value)
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[\w/.:$~@%+,?&-]+$/.test(text) ? text : JSON.stringify(text)
}

// ---- values

/** Names of fields that are secret. */
const secretName = /secret|token|password|authorization|cookie|api[-_]?key/i

/** Convert a value to what JSON can represent. */
function plain(value: unknown, hide: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return hide(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > 5) return '...'
  if (Array.isArray(value)) return value.map(item => plain(item, hide, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => [name, secretName.test(name) ? '[secret]' : plain(item, hide, depth + 1)]),
  )
}

interface DescribedError {
  readonly name: string
  readonly message: string
  readonly code?: unknown
  readonly hint?: string
  /** For an unexpected error: its stack. */
  readonly stack?: string
  readonly cause?: DescribedError
}

/** Describe an error with its causes. */
function describeError(error: unknown, hide: (text: string) => string, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { name: typeof error, message: hide(String(error)) }
  const { name, message, cause, stack } = error
  const { code, hint } = error as { code?: unknown; hint?: unknown }
  return {
    name,
    message: hide(message),
    ...(code !== undefined && { code }),
    ...(typeof hint === 'string' && { hint: hide(hint) }),
    ...(code === undefined && stack !== undefined && { stack: hide(stack) }),
    ...(cause !== undefined && depth < 5 && { cause: describeError(cause, hide, depth + 1) }),
  }
}

function oneText({ name, message, code, stack, cause }: DescribedError): string {
  const what = code === undefined ? (stack ?? `${name}: ${message}`) : `${message} (code ${code})`
  return cause === undefined ? what : `${what}; because: ${oneText(cause)}`
}

/** Writes the request log of a server, one line per request. A line has all fields of the record that are present. */

import { type Clock, systemClock } from '../../src/primitives/clock.js'
import type { RequestRecord } from '../http/options.js'
import { showSize, showTime } from './quantities.js'

export type LogFormat = 'json' | 'text'

interface LogOptions {
  readonly format: LogFormat
  /** Receives one complete line per call, with the line end. */
  readonly write: (line: string) => void
  /** Texts to replace by `[secret]` in all values of a record. Default none. */
  readonly secrets?: readonly string[]
  readonly clock?: Pick<Clock, 'now'>
}

/** Return a logger for a server. The logger never throws. It cuts off values that are nested too deeply. */
export function requestLogger(options: LogOptions): (record: RequestRecord) => void {
  const { format, write, secrets = [], clock = systemClock } = options
  const toLine = format === 'json' ? jsonLine : textLine
  // Replace long secrets first. If a short secret is the beginning of a longer one, replacing the short one first would
  // leave the rest of the longer one visible.
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

/** Escape control characters and line separators that JSON leaves unescaped. Terminals would interpret them. */
function escaped(line: string): string {
  return line.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, control => {
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Format a record as `time status method path`, then the other fields as `name=value`, then the error. */
function textLine(time: string, fields: Fields): string {
  const { status, method, path, error, ...rest } = fields
  const others = Object.entries(rest).map(([name, value]) => `${name}=${textOf(name, value)}`)
  const failed = error === undefined ? [] : [`error=${JSON.stringify(oneText(error as DescribedError))}`]
  return [time, status, method, textOf('path', path), ...others, ...failed].join(' ')
}

/** Format a value. Texts with other characters than letters, digits and common punctuation are quoted. */
function textOf(name: string, value: unknown): string {
  if (typeof value === 'number') {
    if (name.endsWith('Ms')) return showTime(value).replace(' ', '')
    return name.startsWith('bytes') ? showSize(value).replace(' ', '') : String(value)
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[\w/.:$~@%+,?&-]+$/.test(text) ? text : JSON.stringify(text)
}

// ---- values

/** Pattern of the names of fields whose values are not logged. */
const secretName = /secret|token|password|authorization|cookie|api[-_]?key/i

/** Convert a value to one that JSON can represent. Secrets are replaced, and objects below depth 5 are cut off. */
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
  /** The stack, for an unexpected error only. */
  readonly stack?: string
  readonly cause?: DescribedError
}

/** Convert an error and its causes, at most five, to plain data without secrets. */
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

/**
 * Writes the change feed of a table as server-sent events (HTML Standard, 9.2).
 *
 * - The id of an event is its version. A client that connects again sends the last id, and gets each later version once.
 * - A block that has only an id moves the position of the client past versions that have no event.
 * - Nothing is read ahead: the next event is computed when the client has taken the event before it.
 */
import type { Batch } from '../../src/arrow/column.js'
import { type FeedVersion, followVersions, type Watch } from '../../src/client/changes.js'
import { VersionPair } from '../../src/client/version-pair.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { orAborted } from '../../src/primitives/abort.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { CallOptions, Operations } from '../../src/protocol/calls.js'
import { plainBatches } from '../files/pieces.js'
import { encodeJsonLines } from '../files/write-json-lines.js'

/** How long a client waits before it connects again, milliseconds. */
const retryMs = 2_000

/** Limits for the rows of one event: number of rows, and bytes of their text. */
const eventRows = 1_000
const eventBytes = 1 << 20

/** Rows that are read at a time: one row may have many bytes. */
const rowsAtOnce = 64

interface Feed {
  /** Operations on one table, whatever its current name is. */
  readonly operations: Operations
  readonly id: readonly string[]
  /** Undefined: the feed must poll. */
  readonly watch: Watch | undefined
  /** The version before the first event. */
  readonly since: number
  /** Whether events contain rows. */
  readonly rows: boolean
  /** Options of the calls. The feed ends when the signal aborts. */
  readonly call: CallOptions & { readonly signal: AbortSignal }
  /** Rejects if the caller may not read the table any more. Called before the first event after each wait. */
  readonly checkAllowed: () => Promise<void>
}

interface Ending {
  /** Longest time without bytes, milliseconds. */
  readonly keepAliveMs: number
  /** Whether the end of the feed is the end of the stream, without an error. */
  readonly isClosing: () => boolean
  /** Return the body of the error event. */
  readonly failed: (cause: unknown) => unknown
}

/**
 * Open a feed. Resolves when the table and the version before the first event are known to exist; the text of the stream follows. A later
 * error is the last event.
 */
export async function openChanges(feed: Feed, ending: Ending): Promise<AsyncGenerator<Uint8Array>> {
  const steps = stepsOf(feed, feed.since)
  const first = await steps.next()
  const events = withKeepAlive(blocks(feed, resumed(first, steps)), ending.keepAliveMs, feed.call.signal)
  return encoded(events, feed.since, ending)
}

type Steps = ReturnType<typeof followVersions>

function stepsOf({ operations, id, watch, call }: Feed, since: number): Steps {
  return followVersions({ operations, id, watch }, { since, ...call })
}

/** Return a generator that has returned its first item already with that item in front. */
async function* resumed({ done, value }: Awaited<ReturnType<Steps['next']>>, steps: Steps): Steps {
  if (done === true) return
  yield value
  yield* steps
}

async function* encoded(
  blocks: AsyncIterable<string>,
  since: number,
  { isClosing, failed }: Ending,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`retry: ${retryMs}\nid: ${since}\n\n`)
  try {
    for await (const block of blocks) yield Buffer.from(block)
  } catch (cause) {
    if (isClosing()) return
    yield Buffer.from(`event: error\ndata: ${JSON.stringify(failed(cause))}\n\n`)
  }
}

/** Yield the block of each version, and blocks that move the position past versions without an event. */
async function* blocks(feed: Feed, steps: Steps): AsyncGenerator<string> {
  let sent = feed.since
  let isAllowed = true
  let expired: number | undefined
  let feeding: Steps | undefined = steps
  while (feeding !== undefined) {
    const current: Steps = feeding
    feeding = undefined
    for await (const step of current) {
      if ('position' in step) {
        isAllowed = false
        if (step.position !== sent) yield `id: ${step.position}\n\n`
        sent = step.position
        continue
      }
      if (!isAllowed) await feed.checkAllowed()
      isAllowed = true
      let data: string
      try {
        data = await dataOf(feed, step)
      } catch (cause) {
        // A version expired while it was read. The feed goes on after the last event, or has the error with its hint.
        if (!isExpiry(cause) || expired === step.version) throw cause
        expired = step.version
        feeding = stepsOf(feed, sent)
        break
      }
      yield `id: ${step.version}\nevent: change\ndata: ${data}\n\n`
      sent = step.version
    }
  }
}

function isExpiry(cause: unknown): boolean {
  return cause instanceof SheafError && cause.code === ErrorCode.TableVersionNotFound
}

/** Yield the blocks, and a comment whenever there is none for a while: proxies end connections without bytes. */
async function* withKeepAlive(
  blocks: AsyncGenerator<string>,
  keepAliveMs: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let next = blocks.next()
  try {
    for (;;) {
      const block = await withinMs(next, keepAliveMs, signal)
      if (block === undefined) {
        yield ': keep-alive\n\n'
        continue
      }
      if (block.done === true) return
      yield block.value
      next = blocks.next()
    }
  } finally {
    // Not awaited: the signal ends what is still computed.
    next.catch(ignore)
    blocks.return(undefined).catch(ignore)
  }
}

/** Resolve as `work`, or with undefined if it takes longer than `ms`. Rejects with `signal.reason` as soon as the signal fires. */
async function withinMs<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T | undefined> {
  const timer = new AbortController()
  const pause = systemClock.sleep(ms, timer.signal).then(ignore, ignore)
  try {
    return (await orAborted(Promise.race([work, pause]), signal)) ?? undefined
  } finally {
    timer.abort(null)
  }
}

function ignore(): undefined {}

/** Return the JSON of an event. */
async function dataOf(feed: Feed, { version, previous, timestamp, operation }: FeedVersion): Promise<string> {
  const head = { version, previous, timestamp: timestamp.toISOString(), operation }
  const { added, removed, changed, rows } = await new EventReader(feed, version, previous).read()
  const text = JSON.stringify({ ...head, added, removed, changed })
  return rows === undefined ? text : `${text.slice(0, -1)},${rows}}`
}

interface EventRows {
  readonly added: number
  readonly removed: number
  readonly changed: number
  /** The members of the event with the rows, as JSON; undefined if the client did not ask for rows. */
  readonly rows: string | undefined
}

/** Reads the difference of two versions for one event. */
class EventReader {
  readonly #feed: Feed
  readonly #version: number
  readonly #previous: number
  readonly #pair: VersionPair
  /** Whether the event has rows. */
  #hasRows: boolean
  /** Why the event does not have the rows that the client asked for. */
  #omitted: string | undefined
  #bytes = 0

  constructor(feed: Feed, version: number, previous: number) {
    this.#feed = feed
    this.#version = version
    this.#previous = previous
    this.#pair = new VersionPair(feed.operations, feed.id, previous, version)
    this.#hasRows = feed.rows
  }

  async read(): Promise<EventRows> {
    const { operations, id, call } = this.#feed
    if (this.#previous === 0) {
      // All rows are new. Reading their ids would take memory for each row of the table.
      const count = await operations.countTableRows({ id, version: this.#version }, call)
      this.#limitRows(count)
      if (!this.#hasRows) return { added: count, removed: 0, changed: 0, rows: this.#rowsText([], [], []) }
    }
    const { added, removed } = await this.#pair.ids(call)
    this.#limitRows(added.length + removed.length)
    const addedTexts = await this.#textsOf('to', added)
    const removedTexts = await this.#textsOf('from', removed)
    const changedTexts: string[] = []
    let changed = 0
    // Without rows, only the columns that are compared are read.
    for await (const { before, after } of this.#pair.changed(!this.#hasRows, call)) {
      changed += after.length
      this.#limitRows(added.length + removed.length + changed)
      const old = await this.#texts([before])
      const now = await this.#texts([after])
      if (this.#hasRows) {
        changedTexts.push(...now.map((text, i) => `{"before":${old[i]},"after":${text}}`))
      }
    }
    const rows = this.#rowsText(addedTexts, removedTexts, changedTexts)
    return { added: added.length, removed: removed.length, changed, rows }
  }

  #limitRows(count: number): void {
    if (count > eventRows) this.#omit(`the event would have more than ${eventRows} rows`)
  }

  #omit(reason: string): void {
    if (this.#hasRows) this.#omitted = reason
    this.#hasRows = false
  }

  #rowsText(
    added: readonly string[],
    removed: readonly string[],
    changed: readonly string[],
  ): string | undefined {
    if (this.#omitted !== undefined) return `"rows":null,"rows_omitted":${JSON.stringify(this.#omitted)}`
    return this.#hasRows
      ? `"rows":{"added":[${added}],"removed":[${removed}],"changed":[${changed}]}`
      : undefined
  }

  /** Return the rows of a side as JSON objects. */
  async #textsOf(side: 'from' | 'to', ids: Float64Array): Promise<readonly string[]> {
    const texts: string[] = []
    for (let at = 0; at < ids.length && this.#hasRows; at += rowsAtOnce) {
      const some = ids.subarray(at, at + rowsAtOnce)
      texts.push(...(await this.#texts(this.#pair.rows(side, some, this.#feed.call))))
    }
    return texts
  }

  /** Return rows as JSON objects; none if the event has no rows. */
  async #texts(batches: AsyncIterable<Batch> | Iterable<Batch>): Promise<readonly string[]> {
    const texts: string[] = []
    if (!this.#hasRows) return texts
    try {
      const pieces = plainBatches(batches, this.#feed.call.signal)
      for await (const chunk of encodeJsonLines(pieces, { rows: 0 })) {
        this.#bytes += chunk.length
        if (this.#bytes > eventBytes) {
          this.#omit(`the rows of the event would have more than ${eventBytes} bytes`)
          break
        }
        // A chunk has whole lines. A JSON text has no line end inside.
        texts.push(...Buffer.from(chunk).toString().split('\n').slice(0, -1))
      }
    } catch (cause) {
      if (!(cause instanceof SheafError && cause.code === ErrorCode.InvalidInput)) throw cause
      // A value cannot be represented in JSON.
      this.#omit(cause.message)
    }
    return texts
  }
}

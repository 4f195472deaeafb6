/**
 * Handlers of read sessions: one version of a table, read by any number of readers, on any server of the root.
 *
 * - A session is no state: its tokens say what it reads. It is a pin on the slot it began in, held by the server that made it, and by each that
 *   reads a slice of it, until no request came for a while. What the root had at that slot stays readable for as long: the version may expire and
 *   the table be dropped meanwhile.
 * - Where no server held it for a while it goes on all the same, unless a sweep was faster.
 * - Slices are ranges of living rows of the version, so all readers agree on them whatever their server knows; each filters its own rows.
 */
import { createHash } from 'node:crypto'
import { describedBatch, describedSchema } from '../arrow/blob.js'
import type { Batch } from '../arrow/column.js'
import { batchBytes } from '../arrow/layout.js'
import { schemaToJson } from '../arrow/schema-json.js'
import { checkRows, findTable, tableNamed, tagOf, versionOf } from '../catalog/lookup.js'
import type { CatalogState } from '../catalog/state.js'
import { ReadRows } from '../client/arrow-rows.js'
import { isOfGroups } from '../client/selection.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import { streamTask, type TaskStream } from '../primitives/task.js'
import type { Handler, HandlerOptions, Reply, Request } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import { afterKey, slicesMax } from '../protocol/session-shapes.js'
import { binding, hasExpressions } from '../query/binding.js'
import { beginSlice, type Scan } from '../query/execute.js'
import { fileRangesOf, type SliceRange, storedFieldsOf } from '../query/file-ranges.js'
import type { Plan } from '../query/plan.js'
import { planQuery } from '../query/settle.js'
import { planSlices, type Slice } from '../query/slices.js'
import { type Engine, locationOf, readerOf } from '../root/engine.js'
import type { TableReader } from '../table/table-reader.js'
import { answered } from './answered.js'

/** Sessions that one process holds at most. */
const sessionsMax = 1000
/** Bytes of all tokens of a session at most. */
const tokensMax = 16 * 1024 * 1024

/** What is read: the members of a query. */
type SessionQuery = Pick<
  Request<'createTableReadSession'>,
  'filter' | 'parameters' | 'columns' | 'with_row_id'
>

/** What the token of a session says. */
interface Session {
  readonly session: string
  /** The slot of the state that it began in. */
  readonly slot: number
  readonly id: readonly string[]
  readonly uuid: string
  readonly location: string
  readonly version: number
  readonly query: SessionQuery
  /** The time that expressions are told, so that it is the same in all slices. */
  readonly now: number
}

/** What the token of a slice says: living rows of the version. */
export interface SliceToken extends Session {
  readonly from: number
  readonly to: number
}

// ---- begin

export const createTableReadSession: Handler<Engine, 'createTableReadSession'> = async (
  engine,
  request,
  options,
) => {
  const { root, sessions, clock } = engine
  const { signal } = options
  if (sessions.size >= sessionsMax) {
    throw new SheafError(
      ErrorCode.Throttling,
      `${sessions.size} read sessions are open, which is the limit`,
      { hint: 'close some of them' },
    )
  }
  const session = clock.uuid()
  for (;;) {
    await root.refresh(signal)
    // Taken together: what is awaited may be overtaken by a commit.
    const { state, head: slot } = root
    const begun = () => begin(engine, request, { state, slot, session }, options)
    try {
      const reply = await sessions.run(session, slot, async () => {
        const { sweep } = await root.refresh(signal)
        return sweep.floor > slot ? null : begun()
      })
      if (reply !== null) return reply
    } catch (error) {
      await sessions.end(session)
      throw error
    }
    // A sweep that did not see the pin may have passed it.
    await sessions.end(session)
  }
}

interface Beginning {
  readonly state: CatalogState
  readonly slot: number
  readonly session: string
}

async function begin(
  engine: Engine,
  request: Request<'createTableReadSession'>,
  { state, slot, session }: Beginning,
  { signal, table, dialect }: HandlerOptions,
): Promise<Reply<'createTableReadSession'>> {
  const { id, filter, parameters, columns, with_row_id, slices: most, files } = request
  const head = findTable(state, id, table)
  checkRows(head)
  if (isOfGroups({ columns })) {
    throw invalidInput('a read session returns rows, and columns ask for aggregates', {
      hint: 'aggregate with queryTable, or on the rows that the session returns',
    })
  }
  const version = versionOf(head, request.tag === undefined ? request.version : tagOf(head, request.tag))
  const query: SessionQuery = {
    ...(filter !== undefined && { filter }),
    ...(parameters !== undefined && { parameters }),
    ...(columns !== undefined && { columns }),
    ...(with_row_id !== undefined && { with_row_id }),
  }
  const { uuid, location } = head
  const said: Session = { session, slot, id, uuid, location, version, query, now: engine.clock.now() }
  const pacer = new Pacer(signal)
  const { reader } = await readerOf(engine, head, version, signal)
  const plan = await settled(engine, said, reader)
  const seal = await engine.tokens.sealing()
  const ranges = await planSlices(plan, reader, most ?? null, slicesMax, pacer)
  checkTokens(seal(said).length, ranges.length)
  const { schema } = described(beginSlice(plan, reader, pacer, engine.clock), dialect)
  const within = files === true ? await placed(engine, said, plan, reader, ranges, pacer) : null
  const sealed = (from: number, to: number) => seal({ ...said, from, to } satisfies SliceToken)
  return {
    session: seal(said),
    version,
    schema: schemaToJson(schema, dialect ?? 'namespace'),
    slices: ranges.map(({ from, to, rows, bytes }, i) => {
      const slice = { token: sealed(from, to), num_rows: rows, num_bytes: bytes }
      if (within === null) return slice
      const found = within[i]!.map(({ from, to, range }) => {
        return { rows: to - from, ...(range ?? { token: sealed(from, to) }) }
      })
      return { ...slice, ranges: found }
    }),
  }
}

/** Ranges of each slice, whose files have paths as callers see them. */
async function placed(
  engine: Engine,
  { location }: Session,
  plan: Plan,
  reader: TableReader,
  slices: readonly Slice[],
  pacer: Pacer,
): Promise<readonly (readonly SliceRange[])[]> {
  const fields = storedFieldsOf(plan, reader)
  if (fields === null) {
    throw invalidInput('files hold the columns of the table, and columns ask for something else', {
      hint: 'name columns only, without expressions; or read without files',
    })
  }
  const folder = locationOf(engine, { location })
  const all = await fileRangesOf(reader, slices, fields, pacer)
  return all.map(ranges =>
    ranges.map(({ from, to, range }) => {
      if (range === null) return { from, to, range }
      const files = range.files.map(({ path, columns }) => ({ path: `${folder}/${path}`, columns }))
      return { from, to, range: { ...range, files } }
    }),
  )
}

/** Each token has the whole query. */
function checkTokens(each: number, count: number): void {
  if (each * count <= tokensMax) return
  throw invalidInput(
    `${count} slices have tokens of ${each} characters each, more than ${tokensMax} together`,
    { hint: 'ask for fewer slices, or with a shorter filter' },
  )
}

// ---- read

export const readTableSlice: Handler<Engine, 'readTableSlice'> = async (engine, request, options) => {
  const { token, after, max_bytes: most } = request
  // The session may have begun in a slot that this process has not seen.
  await engine.root.refresh(options.signal)
  const slice = await openedToken<SliceToken>(engine, token, request.id, options)
  if (slice.from === undefined) throw invalidInput('the token is that of a session, not of a slice')
  const from = after === undefined ? slice.from : placeIn(slice, after)
  return heldWhile(engine, slice, options, async () => {
    const { signal, dialect, streamAfter = Number.POSITIVE_INFINITY } = options
    const { reader } = await readerOf(engine, slice, slice.version, signal)
    const plan = { ...(await settled(engine, slice, reader)), from, until: slice.to }
    const scan = described(beginSlice(plan, reader, new Pacer(signal), engine.clock), dialect)
    const { schema } = scan
    const batches = marked(scan.batches, slice, () => engine.sessions.touch(slice.session))
    if (most === undefined) return answered(slice.version, { schema, batches }, streamAfter)
    return new ReadRows(slice.version, schema, await first(batches, most))
  })
}

/** `after` as a reader gives it: what the metadata of a message of this slice said. */
function placeIn(slice: SliceToken, after: string): number {
  const [, digits] = /^(\d{1,16})-/.exec(after) ?? []
  const place = Number(digits)
  if (place >= slice.from && place <= slice.to && after === cursorAt(slice, place)) return place
  throw invalidInput(`after is ${quote(after)}, which no message of this slice has as ${afterKey}`, {
    hint: 'send it as it came, with the token of the slice that it is of',
  })
}

/** The text that a reader gets for a place in a slice. Only a server can make one: the digest contains the id of the session, which readers do not see. */
export function cursorAt({ session, from, to }: SliceToken, place: number): string {
  const digest = createHash('sha256').update([session, from, to, place].join(' ')).digest('base64url')
  return `${place}-${digest.slice(0, 12)}`
}

/** The batches up to the one with which they have `most` bytes. */
async function first(batches: TaskStream<Batch>, most: number): Promise<readonly Batch[]> {
  const found: Batch[] = []
  let bytes = 0
  for await (const batch of streamTask(batches)) {
    found.push(batch)
    bytes += batchBytes(batch)
    if (bytes >= most) break
  }
  return found
}

/** With cursors in place of plain places. `touch`: somebody still reads. */
function* marked(batches: TaskStream<Batch>, slice: SliceToken, touch: () => void): TaskStream<Batch> {
  for (const batch of batches) {
    touch()
    if (batch instanceof Promise) yield batch
    else {
      const cursor = cursorAt(slice, Number(batch.metadata![afterKey]))
      yield { ...batch, metadata: { ...batch.metadata, [afterKey]: cursor } }
    }
  }
}

// ---- end

export const closeTableReadSession: Handler<Engine, 'closeTableReadSession'> = async (
  engine,
  request,
  options,
) => {
  const { session } = await openedToken<Session>(engine, request.session, request.id, options)
  await engine.sessions.end(session)
  return {}
}

// ---- shared

/** What a token says. Throws code 13 where it is of another table than the call. */
async function openedToken<T extends Session>(
  { tokens, root }: Engine,
  token: string,
  id: readonly string[],
  { table, signal }: HandlerOptions,
): Promise<T> {
  signal?.throwIfAborted()
  const said = (await tokens.open(token)) as T
  // The caller was allowed to read the table of the call, which must be that of the token: by its name then, or by its name now.
  const isNamed = said.id.join('\0') === id.join('\0') || tableNamed(root.state, id)?.uuid === said.uuid
  if (table === undefined ? isNamed : said.uuid === table) return said
  throw invalidInput(`the token is one of table ${idText(said.id)}, and the call names ${idText(id)}`)
}

/**
 * Runs `work` while a pin keeps what the session reads: nothing is deleted by sweeps that see it. Throws code 11 where files are gone, because no
 * process held the session.
 */
async function heldWhile<T>(
  { root, sessions }: Engine,
  { session, slot, id, version }: Session,
  { signal }: HandlerOptions,
  work: () => Promise<T>,
): Promise<T> {
  return sessions.run(session, slot, async () => {
    try {
      return await work()
    } catch (cause) {
      signal?.throwIfAborted()
      const { sweep } = await root.refresh(signal)
      // The floor may have passed a session that is held: where its files are there, nothing is wrong.
      if (sweep.floor <= slot || !isLoss(cause)) throw cause
      const message = `version ${version} of table ${idText(id)}, which the session reads, is gone: for too long no server held the session`
      throw new SheafError(ErrorCode.TableVersionNotFound, message, { hint: 'begin a new session', cause })
    }
  })
}

/** How reads end that miss something. */
const losses: ReadonlySet<number> = new Set([
  ErrorCode.Internal,
  ErrorCode.TableNotFound,
  ErrorCode.TableVersionNotFound,
])

function isLoss(error: unknown): boolean {
  return error instanceof SheafError && losses.has(error.code)
}

async function settled(engine: Engine, { query, now }: Session, reader: TableReader): Promise<Plan> {
  const request: Request<'queryTable'> = { id: [], k: Number.MAX_SAFE_INTEGER, vector: null, ...query }
  const bind = hasExpressions(request) ? await binding() : null
  return planQuery(request, reader.schema, bind, { ...engine.clock, now: () => now })
}

/** Clients of LanceDB read blobs as descriptors. */
function described({ schema, batches }: Scan, dialect: HandlerOptions['dialect']): Scan {
  const plain = dialect === 'lance' ? describedSchema(schema) : schema
  if (plain === schema) return { schema, batches }
  function* all(): TaskStream<Batch> {
    for (const batch of batches) yield batch instanceof Promise ? batch : describedBatch(batch, plain)
  }
  return { schema: plain, batches: all() }
}

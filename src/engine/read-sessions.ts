/**
 * Handlers of read sessions. In a session, any number of readers read one version of a table, through any server of the
 * root.
 *
 * - A session has no stored state: its tokens contain the request. The server that creates the session pins the slot in
 *   which it began. Each server that reads a slice pins this slot, too. A server removes its pin when it gets no
 *   request of the session for some time.
 * - A pin keeps the whole root readable as it was at that slot, even if the version expires or the table is dropped.
 * - Without a pin, the session works until garbage collection deletes its files.
 * - A slice is a range of the live rows of the version, so all servers read the same rows for it. The server applies
 *   the filter when it reads a slice.
 */
import { createHash } from 'node:crypto'
import { describedBatch, describedSchema } from '../arrow/blob.js'
import type { Batch } from '../arrow/column.js'
import { batchBytes } from '../arrow/layout.js'
import { schemaToJson } from '../arrow/schema-json.js'
import { checkRows, findTable, tableNamed, versionOf } from '../catalog/lookup.js'
import type { CatalogState } from '../catalog/state.js'
import { ReadRows } from '../client/arrow-rows.js'
import { isOfGroups } from '../client/selection.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { Pacer } from '../primitives/pacer.js'
import { streamTask, type TaskStream } from '../primitives/task.js'
import type { Handler, HandlerOptions, Reply, Request } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import { afterKey, slicesMax } from '../protocol/session-shapes.js'
import { binding, hasExpressions } from '../query/binding.js'
import { beginSlice, type Scan } from '../query/execute.js'
import { fileRangesOf, type SliceRange, storedFieldsOf } from '../query/file-ranges.js'
import type { Plan } from '../query/plan.js'
import { planQuery } from '../query/plan-query.js'
import { planSlices, type Slice } from '../query/slices.js'
import type { Engine } from '../root/engine.js'
import { lanceReaderOf, locationOf, readerOf } from '../root/open-table.js'
import type { TableReader } from '../table/table-reader.js'
import { answered } from './answered.js'
import { versionOfTag } from './lance-tags.js'
import { readable } from './lance-versions.js'
import { isUnitToken } from './unit-token.js'

const importUnitAnswer = lazyImport(() => import('./unit-answer.js'))

/** Maximum number of sessions that one process keeps pinned. */
const sessionsMax = 1000
/** Maximum total length of the tokens of a session, in characters. */
const tokensMax = 16 * 1024 * 1024

/** The query of a session. */
type SessionQuery = Pick<
  Request<'createTableReadSession'>,
  'filter' | 'parameters' | 'columns' | 'with_row_id'
>

/** The content of a session token. */
interface Session {
  readonly session: string
  /** The slot of the state in which the session began. */
  readonly slot: number
  readonly id: readonly string[]
  readonly uuid: string
  readonly location: string
  /** Whether a Lance engine wrote the rows. Absent: no. */
  readonly lance?: true
  readonly version: number
  readonly query: SessionQuery
  /** The value of the current time for expressions. It is the same in all slices. */
  readonly now: number
}

/** The content of a slice token: a range of live rows of the version. */
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
  const { root, clock } = engine
  const { sessions } = engine.retained
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
    await readable(
      engine,
      findTable(await root.refresh(signal), request.id, options.table),
      signal,
      request.version,
    )
    // Read the state and the slot together, because a commit may change them during an `await`.
    const { state, head: slot } = root
    const beginNow = () => begin(engine, request, { state, slot, session }, options)
    try {
      const reply = await sessions.run(session, slot, async () => {
        const { sweep } = await root.refresh(signal)
        return sweep.floor > slot ? null : beginNow()
      })
      if (reply !== null) return reply
    } catch (error) {
      await sessions.end(session)
      throw error
    }
    // Garbage collection may have listed the pins before this pin was written, so begin again with a newer slot.
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
  const { id, filter, parameters, columns, with_row_id, slices: maxSlices, files } = request
  const head = findTable(state, id, table)
  const isLance = head.kind === 'lance'
  if (!isLance) checkRows(head)
  if (await isOfGroups({ columns })) {
    throw invalidInput('a read session returns rows, but the request selects aggregates', {
      hint: 'use queryTable for aggregates, or compute them from the rows of the session',
    })
  }
  const version = versionOf(
    head,
    request.tag === undefined ? request.version : await versionOfTag(engine, head, request.tag, signal),
  )
  const query: SessionQuery = {
    ...(filter !== undefined && { filter }),
    ...(parameters !== undefined && { parameters }),
    ...(columns !== undefined && { columns }),
    ...(with_row_id !== undefined && { with_row_id }),
  }
  const { uuid, location } = head
  const now = engine.clock.now()
  const content: Session = {
    session,
    slot,
    id,
    uuid,
    location,
    ...(isLance && { lance: true }),
    version,
    query,
    now,
  }
  const pacer = new Pacer(signal)
  const reader = await sessionReader(engine, content, signal)
  const plan = await planSession(engine, content, reader)
  const seal = await engine.retained.tokens.sealing()
  const ranges = await planSlices(plan, reader, maxSlices ?? null, slicesMax, pacer)
  checkTokens(seal(content).length, ranges.length)
  const { schema } = withDescriptors(beginSlice(plan, reader, pacer, engine.clock), dialect)
  const rangesBySlice =
    files === true ? await rangesWithPaths(engine, content, plan, reader, ranges, pacer) : null
  const sliceToken = (from: number, to: number) => seal({ ...content, from, to } satisfies SliceToken)
  return {
    session: seal(content),
    version,
    schema: schemaToJson(schema, dialect ?? 'namespace'),
    slices: ranges.map(({ from, to, rows, bytes }, i) => {
      const slice = { token: sliceToken(from, to), num_rows: rows, num_bytes: bytes }
      if (rangesBySlice === null) return slice
      const found = rangesBySlice[i]!.map(({ from, to, range }) => {
        return { rows: to - from, ...(range ?? { token: sliceToken(from, to) }) }
      })
      return { ...slice, ranges: found }
    }),
  }
}

/** Return the file ranges of each slice. Their paths are those that callers can open. */
async function rangesWithPaths(
  engine: Engine,
  { location }: Session,
  plan: Plan,
  reader: TableReader,
  slices: readonly Slice[],
  pacer: Pacer,
): Promise<readonly (readonly SliceRange[])[]> {
  const fields = storedFieldsOf(plan, reader)
  if (fields === null) {
    throw invalidInput(
      'with files, a session can return only columns of the table, but the request selects expressions',
      {
        hint: 'select only columns, or leave out files',
      },
    )
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

/** Check the total length of the tokens, because each token contains the whole query. Throws `InvalidInput`. */
function checkTokens(each: number, count: number): void {
  if (each * count <= tokensMax) return
  throw invalidInput(
    `${count} slices have tokens of ${each} characters each, more than ${tokensMax} together`,
    { hint: 'ask for fewer slices, or use a shorter filter' },
  )
}

// ---- read

export const readTableSlice: Handler<Engine, 'readTableSlice'> = async (engine, request, options) => {
  const { token, after, max_bytes: maxBytes } = request
  const content = await engine.retained.tokens.open(token)
  if (isUnitToken(content)) {
    checkTable(engine, content, request.id, options)
    const { answerUnit } = await importUnitAnswer()
    return answerUnit(engine, content, options.signal)
  }
  // Read the newest slots first, because the session may have begun in a slot that this process has not read.
  await engine.root.refresh(options.signal)
  const slice = await openedToken<SliceToken>(engine, token, request.id, options)
  if (slice.from === undefined)
    throw invalidInput('the token belongs to a session, but a slice token is needed')
  const from = after === undefined ? slice.from : positionIn(slice, after)
  return whilePinned(engine, slice, options, async () => {
    const { signal, dialect, streamAfter = Number.POSITIVE_INFINITY } = options
    const reader = await sessionReader(engine, slice, signal)
    const plan = { ...(await planSession(engine, slice, reader)), from, until: slice.to }
    const scan = withDescriptors(beginSlice(plan, reader, new Pacer(signal), engine.clock), dialect)
    const { schema } = scan
    const batches = withCursors(scan.batches, slice, () => engine.retained.sessions.touch(slice.session))
    if (maxBytes === undefined) return answered(slice.version, { schema, batches }, streamAfter)
    return new ReadRows(slice.version, schema, await takeBytes(batches, maxBytes))
  })
}

/**
 * Check a cursor that a reader sent, and return its position. Throws `InvalidInput` if the cursor does not come from
 * the metadata of a batch of this slice.
 */
function positionIn(slice: SliceToken, after: string): number {
  const [, digits] = /^(\d{1,16})-/.exec(after) ?? []
  const position = Number(digits)
  if (position >= slice.from && position <= slice.to && after === cursorAt(slice, position)) return position
  throw invalidInput(
    `after must be a value of ${afterKey} in the metadata of this slice, got ${quote(after)}`,
    {
      hint: 'send the value unchanged, together with the token of its slice',
    },
  )
}

/**
 * Return the cursor for a position in a slice. Only a server can create it, because its digest depends on the session
 * id, which readers do not know.
 */
export function cursorAt({ session, from, to }: SliceToken, position: number): string {
  const digest = createHash('sha256').update([session, from, to, position].join(' ')).digest('base64url')
  return `${position}-${digest.slice(0, 12)}`
}

/** Return the first batches of a stream, until together they have at least `maxBytes` bytes. */
async function takeBytes(batches: TaskStream<Batch>, maxBytes: number): Promise<readonly Batch[]> {
  const found: Batch[] = []
  let bytes = 0
  for await (const batch of streamTask(batches)) {
    found.push(batch)
    bytes += batchBytes(batch)
    if (bytes >= maxBytes) break
  }
  return found
}

/**
 * Replace the positions in the metadata of batches by cursors. `touch`: called for each batch, so that the server keeps
 * its pin.
 */
function* withCursors(batches: TaskStream<Batch>, slice: SliceToken, touch: () => void): TaskStream<Batch> {
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
  await engine.retained.sessions.end(session)
  return {}
}

// ---- shared

/** Return the content of a token. Throws `InvalidInput` if the token is not for the table of the call. */
async function openedToken<T extends Session>(
  engine: Engine,
  token: string,
  id: readonly string[],
  options: HandlerOptions,
): Promise<T> {
  options.signal?.throwIfAborted()
  const content = (await engine.retained.tokens.open(token)) as T
  if (isUnitToken(content))
    throw invalidInput('the token belongs to a sub-query, but a session token is needed')
  checkTable(engine, content, id, options)
  return content
}

/** Throw InvalidInput if a token is not for the table of the call. */
function checkTable(
  { root }: Engine,
  content: Pick<Session, 'id' | 'uuid'>,
  id: readonly string[],
  { table }: HandlerOptions,
): void {
  // The caller is allowed to read the table of the call. So the token must be for this table, by the name that the
  // table has now or had when the session began.
  const isNamed = content.id.join('\0') === id.join('\0') || tableNamed(root.state, id)?.uuid === content.uuid
  if (table === undefined ? isNamed : content.uuid === table) return
  throw invalidInput(`the token is for table ${idText(content.id)}, but the call is for table ${idText(id)}`)
}

/**
 * Run `work` while a pin protects the files of the session. Throws `TableVersionNotFound` if files were deleted because
 * no process had a pin.
 */
async function whilePinned<T>(
  { root, retained }: Engine,
  { session, slot, id, version }: Session,
  { signal }: HandlerOptions,
  work: () => Promise<T>,
): Promise<T> {
  return retained.sessions.run(session, slot, async () => {
    try {
      return await work()
    } catch (cause) {
      signal?.throwIfAborted()
      const { sweep } = await root.refresh(signal)
      // The files were deleted only if the GC watermark is above the slot of the session. Otherwise the error has
      // another cause.
      if (sweep.floor <= slot || !isLoss(cause)) throw cause
      const message = `version ${version} of table ${idText(id)}, which the session reads, was deleted, because no server used the session for too long`
      throw new SheafError(ErrorCode.TableVersionNotFound, message, { hint: 'begin a new session', cause })
    }
  })
}

/** Codes of the errors of reads that find no file or no version. */
const lossCodes: ReadonlySet<number> = new Set([
  ErrorCode.Internal,
  ErrorCode.TableNotFound,
  ErrorCode.TableVersionNotFound,
])

function isLoss(error: unknown): boolean {
  return error instanceof SheafError && lossCodes.has(error.code)
}

/** Return the reader of the version of a session. */
async function sessionReader(
  engine: Engine,
  session: Session,
  signal: AbortSignal | undefined,
): Promise<TableReader> {
  const open = session.lance === true ? lanceReaderOf : readerOf
  return (await open(engine, session, session.version, signal)).reader
}

async function planSession(engine: Engine, { query, now }: Session, reader: TableReader): Promise<Plan> {
  const request: Request<'queryTable'> = { id: [], k: Number.MAX_SAFE_INTEGER, vector: null, ...query }
  const bind = hasExpressions(request) ? await binding() : null
  return planQuery(request, reader.schema, bind, { ...engine.clock, now: () => now })
}

/** Replace the blobs of a scan by descriptors for clients of LanceDB. */
function withDescriptors({ schema, batches }: Scan, dialect: HandlerOptions['dialect']): Scan {
  const plain = dialect === 'lance' ? describedSchema(schema) : schema
  if (plain === schema) return { schema, batches }
  function* all(): TaskStream<Batch> {
    for (const batch of batches) yield batch instanceof Promise ? batch : describedBatch(batch, plain)
  }
  return { schema: plain, batches: all() }
}

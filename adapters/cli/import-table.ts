/** Imports sources into one table: uploads their rows in parts, and commits the parts together. */
import type { Batch } from '../../src/arrow/column.js'
import type { Schema } from '../../src/arrow/types.js'
import { ArrowRows } from '../../src/client/arrow-rows.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import type { Namespace, Reply, Table } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { parseId } from '../../src/protocol/identifiers.js'
import type { Call } from './arguments.js'
import type { FormatName } from './format-names.js'
import { ImportProgress } from './import-progress.js'
import { convertRows, cutParts, type Part, type RefusedRow } from './import-rows.js'
import { givenFields, schemaOfSources } from './import-schema.js'
import { checkUnchanged, type ImportState, ImportStateFile } from './import-state.js'
import { readLance } from './lance-source.js'
import { Misuse } from './misuse.js'
import { showCount, showCounted } from './quantities.js'
import { Rejects } from './rejects.js'
import { checkFormatOptions, formatOf, openSource, readSource, type SourcePiece } from './source-formats.js'
import { checkStillSame, type SourceFile } from './sources.js'

const defaultPartBytes = 64 * 2 ** 20

/** Parts that are sent at the same time. */
const sentAtOnce = 2

/** Codes of errors that the same import would meet again. */
const lasting: ReadonlySet<ErrorCode> = new Set([
  ErrorCode.InvalidInput,
  ErrorCode.SchemaValidation,
  ErrorCode.ColumnNotFound,
  ErrorCode.Unsupported,
  ErrorCode.TableAlreadyExists,
])

/** Return whether the same import would meet an error again. */
export function isLasting({ code }: SheafError): boolean {
  return lasting.has(code)
}

/** The sources of an import, and its table. */
interface ImportJob {
  /** The name of the table. */
  readonly name: string
  readonly files: readonly SourceFile[]
  /** Whether the command imports more tables. The state of the import is then kept until `forget` is called. */
  readonly isOneOfMany?: boolean
  /** Called with a new table and its version before the table gets its name. Returns lines to print. */
  readonly complete?: (id: readonly string[], version: number) => Promise<readonly string[]>
}

/** The import of sources into one table. */
export class Import {
  readonly #root: Namespace
  readonly #name: string
  readonly #files: readonly SourceFile[]
  readonly #job: ImportJob
  readonly #command: Call<'import'>
  readonly #signal: AbortSignal
  readonly #state: ImportStateFile
  readonly #progress: ImportProgress
  #rejects = new Rejects()
  /** The options that determine the rows of the parts, as JSON. */
  readonly #options: string
  readonly #partBytes: number

  constructor(root: Namespace, command: Call<'import'>, signal: AbortSignal, job: ImportJob) {
    const { name, files } = job
    const { mode = 'create', key, vector, types, format, delimiter, columns, nulls } = command
    const { badRows = 'fail', partSize: partBytes = defaultPartBytes, sourceTable } = command
    this.#root = root
    this.#name = name
    this.#files = files
    this.#job = job
    this.#command = command
    this.#signal = signal
    this.#partBytes = partBytes
    this.#options = JSON.stringify({
      mode,
      key,
      vector,
      types,
      format,
      delimiter,
      columns,
      nulls,
      sourceTable,
      badRows,
      partBytes,
    })
    this.#state = new ImportStateFile(command.source, files[0]!, command.directory, name)
    this.#progress = new ImportProgress(files.reduce((sum, file) => sum + file.size, 0))
  }

  async run(): Promise<void> {
    const state = await this.#begin()
    if (state.isFinished === true) {
      console.error(`table ${this.#name} was imported by an earlier run of the command`)
      return
    }
    try {
      this.#rejects = new Rejects(this.#command.rejects)
      const result = await this.#upload(state).finally(() => this.#progress.clear())
      await this.#rejects.close()
      const lines = await this.#complete(state)
      await this.#publish(state, result)
      for (const line of lines) console.log(line)
    } catch (error) {
      throw await this.#afterFailure(state, error)
    }
  }

  /** Delete the state of an import that has ended. */
  async forget(): Promise<void> {
    await this.#state.remove()
  }

  /** Call `complete` of the job, unless an interrupted import has given the table its name. */
  async #complete({ target }: ImportState): Promise<readonly string[]> {
    const { complete } = this.#job
    if (complete === undefined || !(await this.#exists(target))) return []
    const table = await this.#root.openTable(target, { signal: this.#signal })
    return complete(parseId(target), await table.version())
  }

  /** Return the error to report. Discards the import if the same command would fail again. */
  async #afterFailure(state: ImportState, error: unknown): Promise<unknown> {
    if (error instanceof Misuse || (error instanceof SheafError && lasting.has(error.code))) {
      await this.#discard(state)
      return error
    }
    if (error instanceof SheafError && gone.has(error.code)) {
      return new SheafError(error.code, `the interrupted import cannot be continued: ${error.message}`, {
        hint: 'pass --restart to start again',
        cause: error,
      })
    }
    console.error('the import is not complete: run the same command again to continue it')
    return error
  }

  /** Abort the upload, and delete the table that has no name yet. */
  async #discard({ target, upload }: ImportState): Promise<void> {
    const { operations } = this.#root
    const id = parseId(target)
    if (upload !== null) await unlessGone(operations.abortTableUpload({ id, upload_id: upload }))
    if (target !== this.#name) await unlessGone(this.#root.dropTable(target))
    await this.#state.remove()
  }

  /** Continue the interrupted import of the same command, or begin an import. */
  async #begin(): Promise<ImportState> {
    let state = await this.#state.read()
    if (state !== null && (this.#command.restart === true || state.upload === null)) {
      await this.#discard(state)
      state = null
    }
    if (state?.isFinished === true && !(await this.#exists(this.#name))) {
      await this.#state.remove()
      state = null
    }
    if (state === null) return this.#beginNew()
    checkUnchanged(state, this.#files, this.#options)
    return state
  }

  async #beginNew(): Promise<ImportState> {
    const { mode = 'create', key } = this.#command
    const signal = this.#signal
    if (mode !== 'create') {
      const table = await this.#openExisting()
      const [first, ...more] = key ?? []
      const { id } =
        first === undefined
          ? await table.upload({ signal })
          : await table
              .mergeInsert(first, ...more)
              .whenMatchedUpdateAll()
              .whenNotMatchedInsertAll()
              .upload({ signal })
      return this.#save(this.#name, id)
    }
    if (await this.#exists(this.#name)) {
      throw new SheafError(ErrorCode.TableAlreadyExists, `the table ${quote(this.#name)} exists`, {
        hint: 'pass --mode append or --mode upsert, or another name in --table',
      })
    }
    const { types, vector } = this.#command
    const given = givenFields(types, vector)
    const onBadRow = this.#refuse(() => {})
    const read = async (file: SourceFile) => (await this.#open(file, { fields: given }, onBadRow)).pieces
    const schema = await schemaOfSources(this.#files, read, given)
    // The table has another name until it is complete, so that no reader finds it without its rows.
    const target = `${this.#name}__import_${systemClock.uuid().slice(0, 8)}`
    await this.#save(target, null)
    const table = await this.#root.createTable(target, [], { schema, signal })
    return this.#save(target, (await table.upload({ signal })).id)
  }

  async #openExisting(): Promise<Table> {
    try {
      return await this.#root.openTable(this.#name, { signal: this.#signal })
    } catch (error) {
      if (!(error instanceof SheafError && error.code === ErrorCode.TableNotFound)) throw error
      throw new SheafError(error.code, error.message, { hint: 'pass --mode create to make the table' })
    }
  }

  async #exists(name: string): Promise<boolean> {
    try {
      await this.#root.operations.tableExists({ id: parseId(name) }, { signal: this.#signal })
      return true
    } catch (error) {
      if (error instanceof SheafError && error.code === ErrorCode.TableNotFound) return false
      throw error
    }
  }

  async #save(target: string, upload: string | null): Promise<ImportState> {
    const state = { target, upload, options: this.#options, sources: this.#files }
    try {
      await this.#state.write(state)
    } catch (error) {
      if (upload !== null) {
        console.error(`an interruption cannot be continued: ${(error as Error).message}`)
      }
    }
    return { format: 1, ...state }
  }

  /** Send the parts that are missing, and commit all parts. Returns the result, or null if there is no row. */
  async #upload({ target, upload: id }: ImportState): Promise<Reply<'completeTableUpload'> | null> {
    const { operations } = this.#root
    const signal = this.#signal
    const place = (await this.#exists(target)) ? target : this.#name
    const request = { id: parseId(place), upload_id: id! }
    const described = await operations.describeTableUpload(request, { signal }).catch(error => {
      // The import was interrupted after its commit, which has the same result again.
      if (error instanceof SheafError && error.code === ErrorCode.InvalidInput) return null
      throw error
    })
    if (described === null) return operations.completeTableUpload(request, { signal })
    const present = new Map(described.parts.map(part => [part.part, part.num_rows]))
    const resumed = described.parts.length
    if (resumed > 0) {
      const rows = showCounted(described.num_rows, 'row')
      console.error(`continuing an interrupted import: ${rows} in ${showCounted(resumed, 'part')} are there`)
    }
    const table = await this.#root.openTable(place, { signal })
    const names: string[] = []
    const sending = new Set<Promise<void>>()
    let failure: { readonly error: unknown } | undefined
    try {
      for await (const part of cutParts(this.#batches(await table.schema({ signal })), this.#partBytes)) {
        names.push(part.name)
        if (present.has(part.name)) {
          checkPart(part, present.get(part.name)!)
          continue
        }
        const sent = this.#send(request, part)
          .catch(error => {
            failure ??= { error }
          })
          .finally(() => sending.delete(sent))
        sending.add(sent)
        if (sending.size >= sentAtOnce) await Promise.race(sending)
        if (failure !== undefined) break
      }
    } finally {
      await Promise.all(sending)
    }
    if (failure !== undefined) throw failure.error
    if (names.length > 0) return operations.completeTableUpload({ ...request, parts: names }, { signal })
    await operations.abortTableUpload(request, { signal })
    return null
  }

  async #send(
    request: { readonly id: readonly string[]; readonly upload_id: string },
    part: Part,
  ): Promise<void> {
    const rows = new ArrowRows(part.schema, part.batches)
    await this.#root.operations.insertIntoTable({ ...request, upload_part_id: part.name }, rows, {
      signal: this.#signal,
    })
  }

  /** Yield the rows of all sources. `columns`: the columns of the table. */
  async *#batches(columns: Schema): AsyncGenerator<Batch> {
    const { mode = 'create', types, vector } = this.#command
    const formats = new Set<FormatName>()
    let upserted: Schema | undefined
    let isFirst = true
    let done = 0
    for (const file of this.#files) {
      const { path, size } = file
      const onBadRow = this.#refuse(bad => this.#rejects.add(path, bad))
      // The columns of a new table come from the first rows, whose texts must be read as when the types were inferred.
      const target = mode === 'create' && isFirst ? { fields: givenFields(types, vector) } : columns
      const { pieces, format } = await this.#open(file, target, onBadRow, bytes => {
        this.#progress.bytes += bytes
      })
      formats.add(format)
      const counted = this.#counted(pieces, names => {
        isFirst = false
        if (mode !== 'upsert') return
        upserted ??= { ...columns, fields: columns.fields.filter(({ name }) => names.includes(name)) }
      })
      const schemaOf = () => upserted ?? columns
      yield* convertRows(counted, { source: file, schemaOf, needsAll: mode === 'upsert', onBadRow })
      await checkStillSame(file)
      // Formats that read at positions do not count bytes.
      done += size
      this.#progress.bytes = done
    }
    checkFormatOptions(this.#command, formats)
  }

  /** Yield the pieces, show the progress, and wait for the file of bad rows. `onFirst` is called with the columns of the first row. */
  async *#counted(
    pieces: AsyncIterable<SourcePiece>,
    onFirst: (names: readonly string[]) => void,
  ): AsyncGenerator<SourcePiece> {
    let isFirst = true
    for await (const piece of pieces) {
      const rows = 'lines' in piece ? piece.rows.length : piece.numRows
      this.#progress.rows += rows
      if (isFirst && (rows > 0 || !('lines' in piece))) {
        onFirst('lines' in piece ? Object.keys(piece.rows[0]!) : piece.schema.fields.map(({ name }) => name))
        isFirst = false
      }
      yield piece
      this.#progress.show()
      await this.#rejects.drain()
    }
  }

  async #open(
    file: SourceFile,
    target: Schema,
    onBadRow: (bad: RefusedRow) => void,
    onBytes: (bytes: number) => void = () => {},
  ): Promise<{ readonly format: FormatName; readonly pieces: AsyncIterable<SourcePiece> }> {
    const { path, size, lance } = file
    const { format: given, delimiter, columns, nulls, sourceTable } = this.#command
    if (lance !== undefined) {
      const { version, rows } = lance
      const onRows = (count: number) => onBytes((size * count) / Math.max(1, rows))
      return { format: 'lance', pieces: readLance(path, version, this.#signal, onRows) }
    }
    const source = await openSource(file, onBytes, this.#signal)
    // Sources of the format lance are folders.
    const format = given === undefined || given === 'lance' ? formatOf(source) : given
    const options = { target, sourceTable, delimiter, columns, nulls, onBadRow, signal: this.#signal }
    return { format, pieces: readSource(source, format, options) }
  }

  /** Return a function for bad rows: it throws their error, or calls `skip` if they are left out. */
  #refuse(skip: (bad: RefusedRow) => void): (bad: RefusedRow) => void {
    if (this.#command.badRows === 'skip') return skip
    return bad => {
      throw withWayOut(bad.error)
    }
  }

  /** Give a new table its name, delete the state, and print what was done. */
  async #publish(state: ImportState, result: Reply<'completeTableUpload'> | null): Promise<void> {
    const { target } = state
    if (target !== this.#name && (await this.#exists(target))) {
      await this.#root.renameTable(target, this.#name, { signal: this.#signal })
    }
    if (this.#job.isOneOfMany !== true) await this.#state.remove()
    else await this.#state.write({ ...state, target: this.#name, isFinished: true })
    const { count, errors } = this.#rejects
    if (count > 0) {
      const { rejects } = this.#command
      console.error(
        `${showCounted(count, 'bad row')} left out${rejects === undefined ? ':' : `; see ${rejects}`}`,
      )
      if (rejects === undefined) for (const error of errors) console.error(`  ${error}`)
      if (rejects === undefined && count > errors.length) console.error('  … pass --rejects to get all')
    }
    const { num_inserted_rows: inserted = 0, num_updated_rows: updated = 0, version } = result ?? {}
    const what = this.#command.mode === 'upsert' ? `, ${showCount(updated)} updated` : ''
    const where = version === undefined ? '' : `, version ${version}`
    console.log(`${showCounted(inserted, 'row')} imported${what}: table ${this.#name}${where}`)
  }
}

/** Codes of errors after which an upload cannot be continued. */
const gone: ReadonlySet<ErrorCode> = new Set([
  ErrorCode.TransactionNotFound,
  ErrorCode.TableNotFound,
  ErrorCode.InvalidTableState,
])

/** Wait for the deletion of something that may already be gone. */
async function unlessGone(deleting: Promise<unknown>): Promise<void> {
  await deleting.catch(error => {
    if (!(error instanceof SheafError && (gone.has(error.code) || lasting.has(error.code)))) throw error
  })
}

/** Throw `InvalidInput` if a part has other rows than when it was sent. */
function checkPart({ name, rows }: Part, sent: number): void {
  if (rows === sent) return
  throw invalidInput(`${name} has ${rows} rows, but ${sent} rows were sent for it`, {
    hint: 'the sources or the program have changed; run the command again, which starts again',
  })
}

/** Return the error of a bad row with the options that help. */
function withWayOut({ code, message, hint = '', cause }: SheafError): SheafError {
  const [, column] = /^the type was inferred.*types: \{ "((?:[^"\\]|\\.)*)"/.exec(hint) ?? []
  const own = column === undefined ? hint : `the type was inferred: pass --types "${column}:string"`
  const ways = [own, 'pass --bad-rows skip to leave bad rows out'].filter(way => way !== '')
  return new SheafError(code, message, { hint: ways.join('; or '), cause })
}

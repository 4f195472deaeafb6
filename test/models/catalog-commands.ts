/** Commands that do the same to a real catalog and to its model, and compare what both show. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { batchToRows } from '../../src/arrow/values.js'
import type { ArrowRows } from '../../src/client/arrow-rows.js'
import { readReply } from '../../src/client/read-replies.js'
import { tableRows } from '../../src/client/table-rows.js'
import type { CallOptions, Operations, Reply, Request } from '../../src/protocol/calls.js'
import { forceCheckpoint } from '../support/checkpoints.js'
import { failure } from '../support/failure.js'
import { transactionsIn } from '../support/observed.js'
import type { OpenedRoot } from '../support/transports.js'
import { CatalogModel, keyOf, type ModelTable, type Path, Refused } from './catalog-model.js'

/** A transaction, and what was noted on it. */
interface Transaction {
  readonly id: string
  readonly notes: Map<string, string>
}

/** A call that was answered under a key. */
interface Keyed {
  readonly key: string
  readonly send: (ops: Operations, options: CallOptions) => Promise<unknown>
  readonly reply: unknown
}

export class Model {
  readonly catalog = new CatalogModel()
  readonly transactions: Transaction[] = []
  readonly keyed: Keyed[] = []
  /** Where each table lies, by its number; and its uuid. */
  readonly places = new Map<number, { readonly location: string; readonly uuid: string }>()
  /** Row id of every row, by the number of its table and its `id`. */
  readonly rowIds = new Map<string, unknown>()
  nextRow = 0
  /** How often both were compared. */
  looks = 0
}

/** The real thing. */
export class Real {
  readonly root: OpenedRoot

  constructor(root: OpenedRoot) {
    this.root = root
  }

  get ops(): Operations {
    return this.root.ns.operations
  }
}

type Command = fc.AsyncCommand<Model, Real>

/** One call of an operation that writes. */
abstract class Call<R> implements Command {
  check = (_: Readonly<Model>): boolean => true
  /** Does it to the model, or throws `Refused`. What is given is checked on the reply; false: nothing was committed. */
  abstract expect(model: Model): ((reply: R) => void) | boolean
  /** The request, as data, before it is sent: it may depend on what the model holds. */
  abstract prepare(model: Model): (ops: Operations, options: CallOptions) => Promise<R>
  /** Tables to look at afterwards. */
  abstract readonly touches: readonly Path[]
  abstract toString(): string

  async run(model: Model, real: Real): Promise<void> {
    const send = this.prepare(model)
    const key = `${model.keyed.length} ${this}`
    let expected: ((reply: R) => void) | boolean
    try {
      expected = model.catalog.all(() => this.expect(model))
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused
      const error = await failure(send(real.ops, { idempotencyKey: key }))
      expect(error, error.stack ?? '').toMatchObject({ code: refused.code })
      await compare(model, real, this.touches)
      return
    }
    const reply = await send(real.ops, { idempotencyKey: key })
    if (typeof expected === 'function') expected(reply)
    const ids = transactionsIn(reply)
    // The metadata of a schema is a bare map on the wire.
    if (!(this instanceof SetMetadata)) expect(new Set(ids).size).toBe(expected === false ? 0 : 1)
    // A delete that meets no row commits nothing, and names an older transaction.
    const isKnown = model.transactions.some(({ id }) => ids.includes(id))
    if (ids.length > 0 && !isKnown) model.transactions.push({ id: ids[0]!, notes: new Map() })
    if (expected !== false && !isKnown) model.keyed.push({ key, send, reply })
    await compare(model, real, this.touches)
  }
}

class CreateNamespace extends Call<Reply<'createNamespace'>> {
  readonly touches = []
  constructor(
    readonly id: Path,
    readonly mode: 'Create' | 'ExistOk' | 'Overwrite',
    readonly value: string,
  ) {
    super()
  }
  expect({ catalog }: Model) {
    return catalog.createNamespace(this.id, this.mode, { value: this.value })
  }
  prepare() {
    const request = { id: this.id, mode: this.mode, properties: { value: this.value } }
    return (ops: Operations, options: CallOptions) => ops.createNamespace(request, options)
  }
  toString = () => `createNamespace(${keyOf(this.id)}, ${this.mode}, ${this.value})`
}

class DropNamespace extends Call<Reply<'dropNamespace'>> {
  readonly touches = []
  constructor(
    readonly id: Path,
    readonly mode: 'Fail' | 'Skip',
    readonly behavior: 'Restrict' | 'Cascade',
  ) {
    super()
  }
  expect({ catalog }: Model) {
    return catalog.dropNamespace(this.id, this.mode, this.behavior)
  }
  prepare() {
    const { id, mode, behavior } = this
    return (ops: Operations, options: CallOptions) => ops.dropNamespace({ id, mode, behavior }, options)
  }
  toString = () => `dropNamespace(${keyOf(this.id)}, ${this.mode}, ${this.behavior})`
}

class CreateTable extends Call<Reply<'createTable'>> {
  readonly touches: readonly Path[]
  #rows: readonly number[] = []
  constructor(
    readonly id: Path,
    readonly mode: 'Create' | 'ExistOk' | 'Overwrite',
    readonly count: number,
    readonly value: string,
  ) {
    super()
    this.touches = [id]
  }
  prepare(model: Model) {
    const rows = Array.from({ length: this.count }, () => model.nextRow++)
    this.#rows = rows
    const request = { id: this.id, mode: this.mode, properties: { value: this.value } }
    return async (ops: Operations, options: CallOptions) =>
      ops.createTable(request, await bodyOf(rows), options)
  }
  expect({ catalog }: Model) {
    const isNew = catalog.createTable(this.id, this.mode, this.#rows, { value: this.value })
    const { mark, props } = catalog.find(this.id)
    return (
      isNew &&
      ((reply: Reply<'createTable'>) => expect(reply).toMatchObject({ version: mark, properties: props }))
    )
  }
  toString = () => `createTable(${keyOf(this.id)}, ${this.mode}, ${this.count}, ${this.value})`
}

class Insert extends Call<Reply<'insertIntoTable'>> {
  readonly touches: readonly Path[]
  #rows: readonly number[] = []
  constructor(
    readonly id: Path,
    readonly mode: 'Append' | 'Overwrite',
    readonly count: number,
  ) {
    super()
    this.touches = [id]
  }
  prepare(model: Model) {
    const rows = Array.from({ length: this.count }, () => model.nextRow++)
    this.#rows = rows
    const request = { id: this.id, mode: this.mode }
    return async (ops: Operations, options: CallOptions) =>
      ops.insertIntoTable(request, await bodyOf(rows), options)
  }
  expect({ catalog }: Model) {
    const version = catalog.insert(this.id, this.mode, this.#rows)
    return (reply: Reply<'insertIntoTable'>) =>
      expect(reply).toMatchObject({ version, num_inserted_rows: this.count })
  }
  toString = () => `insert(${keyOf(this.id)}, ${this.mode}, ${this.count})`
}

class DeleteRows extends Call<Reply<'deleteFromTable'>> {
  readonly touches: readonly Path[]
  constructor(
    readonly id: Path,
    readonly divisor: number,
  ) {
    super()
    this.touches = [id]
  }
  prepare() {
    const request = { id: this.id, predicate: `id % ${this.divisor} = 0` }
    return (ops: Operations, options: CallOptions) => ops.deleteFromTable(request, options)
  }
  expect({ catalog }: Model) {
    const num_deleted_rows = catalog.delete(this.id, id => id % this.divisor === 0)
    const version = catalog.latest(catalog.find(this.id))!
    return (reply: Reply<'deleteFromTable'>) => expect(reply).toMatchObject({ num_deleted_rows, version })
  }
  toString = () => `delete(${keyOf(this.id)}, ${this.divisor})`
}

class Declare extends Call<Reply<'declareTable'>> {
  readonly touches: readonly Path[]
  constructor(readonly id: Path) {
    super()
    this.touches = [id]
  }
  prepare() {
    const request = { id: this.id, properties: { declared: 'yes' } }
    return (ops: Operations, options: CallOptions) => ops.declareTable(request, options)
  }
  expect({ catalog }: Model) {
    catalog.declare(this.id, { declared: 'yes' })
    return true
  }
  toString = () => `declare(${keyOf(this.id)})`
}

class Leave extends Call<Reply<'dropTable'>> {
  readonly touches: readonly Path[]
  constructor(
    readonly how: 'drop' | 'deregister',
    readonly id: Path,
  ) {
    super()
    this.touches = [id]
  }
  prepare() {
    const operation = this.how === 'drop' ? 'dropTable' : 'deregisterTable'
    return (ops: Operations, options: CallOptions) => ops[operation]({ id: this.id }, options)
  }
  expect({ catalog, places }: Model) {
    const { number, props } = catalog.find(this.id)
    catalog[this.how](this.id)
    return (reply: Reply<'dropTable'>) =>
      expect(reply).toMatchObject({ id: this.id, location: places.get(number)!.location, properties: props })
  }
  toString = () => `${this.how}(${keyOf(this.id)})`
}

class Register extends Call<Reply<'registerTable'>> {
  readonly touches: readonly Path[]
  #number = -1
  constructor(
    readonly pick: number,
    readonly id: Path,
    readonly mode: 'Create' | 'Overwrite',
  ) {
    super()
    this.touches = [id]
  }
  override check = (model: Readonly<Model>) => model.catalog.detached.size > 0
  prepare({ catalog, places }: Model) {
    const numbers = [...catalog.detached.keys()]
    this.#number = numbers[this.pick % numbers.length]!
    const { location } = places.get(this.#number)!
    const request = { id: this.id, location, mode: this.mode, properties: { registered: String(this.pick) } }
    return (ops: Operations, options: CallOptions) => ops.registerTable(request, options)
  }
  expect({ catalog, places }: Model) {
    catalog.register(this.#number, this.id, this.mode, { registered: String(this.pick) })
    const { location } = places.get(this.#number)!
    const { props } = catalog.find(this.id)
    return (reply: Reply<'registerTable'>) => expect(reply).toMatchObject({ location, properties: props })
  }
  toString = () => `register(${this.pick}, ${keyOf(this.id)}, ${this.mode})`
}

class Rename extends Call<Reply<'renameTable'>> {
  readonly touches: readonly Path[]
  constructor(
    readonly from: Path,
    readonly to: Path,
  ) {
    super()
    this.touches = [from, to]
  }
  prepare() {
    const namespace = this.to.slice(0, -1)
    const request = {
      id: this.from,
      new_table_name: this.to.at(-1)!,
      ...(namespace.length === 0 ? { to_root: true } : { new_namespace_id: namespace }),
    }
    return (ops: Operations, options: CallOptions) => ops.renameTable(request, options)
  }
  expect({ catalog }: Model) {
    return catalog.rename(this.from, this.to)
  }
  toString = () => `rename(${keyOf(this.from)}, ${keyOf(this.to)})`
}

class Restore extends Call<Reply<'restoreTable'>> {
  readonly touches: readonly Path[]
  #version = -1
  constructor(
    readonly id: Path,
    readonly pick: number,
  ) {
    super()
    this.touches = [id]
  }
  prepare(model: Model) {
    this.#version = versionAt(model, this.id, this.pick)
    const request = { id: this.id, version: this.#version }
    return (ops: Operations, options: CallOptions) => ops.restoreTable(request, options)
  }
  expect({ catalog }: Model) {
    catalog.restore(this.id, this.#version)
    return true
  }
  toString = () => `restore(${keyOf(this.id)}, ${this.pick})`
}

class SetMetadata extends Call<Reply<'updateTableSchemaMetadata'>> {
  readonly touches: readonly Path[]
  constructor(
    readonly id: Path,
    readonly value: string,
  ) {
    super()
    this.touches = [id]
  }
  prepare() {
    const request = { id: this.id, metadata: { value: this.value } }
    return (ops: Operations, options: CallOptions) => ops.updateTableSchemaMetadata(request, options)
  }
  expect({ catalog }: Model) {
    catalog.setMetadata(this.id, { value: this.value })
    return ({ metadata }: Reply<'updateTableSchemaMetadata'>) =>
      expect(metadata).toEqual({ value: this.value })
  }
  toString = () => `setMetadata(${keyOf(this.id)}, ${this.value})`
}

class SetTag extends Call<Reply<'createTableTag'>> {
  readonly touches: readonly Path[]
  #version = -1
  constructor(
    readonly how: 'create' | 'update',
    readonly id: Path,
    readonly tag: string,
    readonly pick: number,
  ) {
    super()
    this.touches = [id]
  }
  prepare(model: Model) {
    const { id, tag } = this
    const version = versionAt(model, id, this.pick)
    this.#version = version
    const operation = this.how === 'create' ? 'createTableTag' : 'updateTableTag'
    return (ops: Operations, options: CallOptions) => ops[operation]({ id, tag, version }, options)
  }
  expect({ catalog }: Model) {
    catalog.setTag(this.id, this.tag, this.#version, this.how)
    return true
  }
  toString = () => `${this.how}Tag(${keyOf(this.id)}, ${this.tag}, ${this.pick})`
}

class DeleteTag extends Call<Reply<'deleteTableTag'>> {
  readonly touches: readonly Path[]
  constructor(
    readonly id: Path,
    readonly tag: string,
  ) {
    super()
    this.touches = [id]
  }
  prepare() {
    const { id, tag } = this
    return (ops: Operations, options: CallOptions) => ops.deleteTableTag({ id, tag }, options)
  }
  expect({ catalog }: Model) {
    catalog.deleteTag(this.id, this.tag)
    return true
  }
  toString = () => `deleteTag(${keyOf(this.id)}, ${this.tag})`
}

// ---- what may also stand in a batch

type Step =
  | { readonly kind: 'declare' | 'deregister'; readonly id: Path }
  | { readonly kind: 'version'; readonly id: Path; readonly version: number }
  | { readonly kind: 'expire'; readonly id: Path; readonly start: number; readonly end: number }

type BatchOperation = Request<'batchCommitTables'>['operations'][number]
type BatchResult = Reply<'batchCommitTables'>['results'][number]

/** A version that is there, one of those in turn that `pick` names, or at last one that is not. */
function versionAt({ catalog }: Model, id: Path, pick: number): number {
  const table = catalog.tables.get(keyOf(id))
  const known = [...(table?.versions.keys() ?? []), (table?.mark ?? 0) + 1]
  return known[pick % known.length]!
}

/** A number around the next one of a table: most are free, some are taken. */
function nextVersion({ catalog }: Model, id: Path, pick: number): number {
  const mark = catalog.tables.get(keyOf(id))?.mark ?? 0
  return Math.max(0, mark + [1, 1, 2, 0, -1][pick % 5]!)
}

/** `step` with numbers that suit the tables there are. */
function suited<S extends Step>(model: Model, step: S): S {
  if (step.kind === 'version') return { ...step, version: nextVersion(model, step.id, step.version) }
  if (step.kind === 'expire') return { ...step, start: versionAt(model, step.id, step.start) }
  return step
}

/** Where a version points: another place for every table and number. */
const pathTo = (id: Path, version: number) => `somewhere/${keyOf(id)}/${version}`

function wireOf(step: Step): BatchOperation {
  const { id } = step
  switch (step.kind) {
    case 'declare':
      return { declare_table: { id } }
    case 'deregister':
      return { deregister_table: { id } }
    case 'version': {
      const { version } = step
      return { create_table_version: { id, version, manifest_path: pathTo(id, version) } }
    }
    case 'expire': {
      const ranges = [{ start_version: step.start, end_version: step.end }]
      return { delete_table_versions: { id, ranges } }
    }
  }
}

/** Does a step to the model; gives what its result must look like, and whether there was anything to do. */
function take({ catalog, places }: Model, step: Step): { readonly result: object; readonly isDone: boolean } {
  const { id } = step
  switch (step.kind) {
    case 'declare':
      catalog.declare(id, {})
      return { result: { declare_table: { managed_versioning: true } }, isDone: true }
    case 'deregister': {
      const place = places.get(catalog.deregister(id).number)
      const location = place?.location ?? expect.any(String)
      return { result: { deregister_table: { id, location } }, isDone: true }
    }
    case 'version': {
      const { version } = step
      catalog.createVersion(id, version, pathTo(id, version))
      const record = { version, manifest_path: pathTo(id, version) }
      return { result: { create_table_version: { version: record } }, isDone: true }
    }
    case 'expire': {
      const deleted_count = catalog.deleteVersions(id, step.start, step.end)
      return { result: { delete_table_versions: { deleted_count } }, isDone: deleted_count > 0 }
    }
  }
}

const stepText = (step: Step) => JSON.stringify({ ...step, id: keyOf(step.id) })

class Batch extends Call<Reply<'batchCommitTables'>> {
  readonly touches: readonly Path[]
  #steps: readonly Step[] = []
  constructor(readonly steps: readonly Step[]) {
    super()
    this.touches = steps.map(({ id }) => id)
  }
  prepare(model: Model) {
    this.#steps = this.steps.map(step => suited(model, step))
    const request = { operations: this.#steps.map(wireOf) }
    return (ops: Operations, options: CallOptions) => ops.batchCommitTables(request, options)
  }
  expect(model: Model) {
    const before = new Set(model.catalog.detached.keys())
    const taken = this.#steps.map(step => take(model, step))
    if (taken.every(({ isDone }) => !isDone)) return false
    return ({ results }: Reply<'batchCommitTables'>) => {
      expect(results).toMatchObject(taken.map(({ result }) => result))
      this.#notePlaces(model, before, results)
    }
  }
  /** Tables that were declared and deregistered in the batch were never seen: their places are in its results. */
  #notePlaces(
    { catalog, places }: Model,
    before: ReadonlySet<number>,
    results: readonly BatchResult[],
  ): void {
    const gone = results.flatMap(result => result.deregister_table ?? [])
    const numbers = [...catalog.detached.keys()].filter(number => !before.has(number))
    for (const [i, number] of numbers.entries()) {
      const { location } = gone[i]!
      if (!places.has(number)) places.set(number, { location, uuid: location.split('/').at(-1)! })
    }
  }
  toString = () => `batch(${this.steps.map(stepText).join(', ')})`
}

class Single extends Call<unknown> {
  readonly touches: readonly Path[]
  #step: Step
  constructor(readonly step: Step & { readonly kind: 'version' | 'expire' }) {
    super()
    this.touches = [step.id]
    this.#step = step
  }
  prepare(model: Model) {
    this.#step = suited(model, this.step)
    const { create_table_version, delete_table_versions } = wireOf(this.#step)
    return (ops: Operations, options: CallOptions): Promise<unknown> =>
      create_table_version !== undefined
        ? ops.createTableVersion(create_table_version, options)
        : ops.batchDeleteTableVersions(delete_table_versions!, options)
  }
  expect(model: Model) {
    const { result, isDone } = take(model, this.#step)
    return isDone && ((reply: unknown) => expect(reply).toMatchObject(Object.values(result)[0]))
  }
  toString = () => `single(${stepText(this.step)})`
}

class BatchCreate extends Call<Reply<'batchCreateTableVersions'>> {
  readonly touches: readonly Path[]
  #steps: readonly Step[] = []
  constructor(readonly steps: readonly (Step & { readonly kind: 'version' })[]) {
    super()
    this.touches = steps.map(({ id }) => id)
  }
  prepare(model: Model) {
    this.#steps = this.steps.map(step => suited(model, step))
    const request = { entries: this.#steps.map(step => wireOf(step).create_table_version!) }
    return (ops: Operations, options: CallOptions) => ops.batchCreateTableVersions(request, options)
  }
  expect(model: Model) {
    const taken = this.#steps.map(step => take(model, step).result)
    return ({ versions }: Reply<'batchCreateTableVersions'>) =>
      expect(versions.map(version => ({ create_table_version: { version } }))).toMatchObject(taken)
  }
  toString = () => `batchCreate(${this.steps.map(stepText).join(', ')})`
}

// ---- transactions, keys, openers

/** Notes something on a transaction, whichever it was. */
class Note implements Command {
  constructor(
    readonly pick: number,
    readonly key: string,
    readonly value: string | null,
    readonly mode: 'Overwrite' | 'Fail' | 'Skip',
  ) {}
  check = (model: Readonly<Model>) => model.transactions.length > 0
  async run({ transactions }: Model, real: Real): Promise<void> {
    const { id, notes } = transactions[this.pick % transactions.length]!
    const { key, value, mode } = this
    const action =
      value === null
        ? { unsetPropertyAction: { key, mode: mode === 'Fail' ? ('Fail' as const) : ('Skip' as const) } }
        : { setPropertyAction: { key, value, mode } }
    const call = real.ops.alterTransaction({ id: [id], actions: [action] })
    if (mode === 'Fail' && notes.has(key) === (value !== null)) {
      expect(await failure(call)).toMatchObject({ code: 14 })
    } else {
      expect((await call).status).toBe('Succeeded')
      if (value === null) notes.delete(key)
      else if (mode !== 'Skip' || !notes.has(key)) notes.set(key, value)
    }
    await checkTransaction(real, { id, notes })
  }
  toString = () => `note(${this.pick}, ${this.key}, ${this.value}, ${this.mode})`
}

async function checkTransaction(real: Real, { id, notes }: Transaction): Promise<void> {
  const { status, properties } = await real.ops.describeTransaction({ id: [id] })
  expect(status).toBe('Succeeded')
  expect(id).toContain(properties.uuid!)
  for (const key of noteKeys) expect(properties[key]).toBe(notes.get(key))
}

/** Sends a call again that was answered before. */
class Again implements Command {
  constructor(readonly pick: number) {}
  check = (model: Readonly<Model>) => model.keyed.length > 0
  async run(model: Model, real: Real): Promise<void> {
    const { key, send, reply } = model.keyed[this.pick % model.keyed.length]!
    expect(await send(real.ops, { idempotencyKey: key })).toEqual(reply)
    await compare(model, real, [])
  }
  toString = () => `again(${this.pick})`
}

class Reopen implements Command {
  constructor(readonly checkpoint: boolean) {}
  check = () => true
  async run(model: Model, real: Real): Promise<void> {
    if (this.checkpoint) await forceCheckpoint(real.root.ns, real.root.store)
    await real.root.reopen()
    await compareAll(model, real)
  }
  toString = () => `reopen(${this.checkpoint ? 'with a checkpoint' : ''})`
}

// ---- comparing

/** All names and what a command touched; everything, every now and then. */
async function compare(model: Model, real: Real, touched: readonly Path[]): Promise<void> {
  if (++model.looks % 8 === 0) return compareAll(model, real)
  await compareNames(model, real)
  const known = touched.filter(path => model.catalog.tables.has(keyOf(path)))
  for (const path of new Map(known.map(path => [keyOf(path), path])).values()) {
    await compareTable(model, real, path, model.catalog.find(path))
  }
}

/** Every name, description, version, tag, row and note. */
export async function compareAll(model: Model, real: Real): Promise<void> {
  await compareNames(model, real)
  for (const [key, props] of model.catalog.namespaces) {
    const id = key === '' ? [] : key.split('/')
    expect((await real.ops.describeNamespace({ id })).properties).toEqual(props)
  }
  for (const [key, table] of model.catalog.tables) await compareTable(model, real, key.split('/'), table)
}

async function compareNames({ catalog }: Model, { ops }: Real): Promise<void> {
  const { tables } = await ops.listAllTables({ delimiter: '/' })
  expect(tables).toEqual([...catalog.tables.keys()].sort())
  for (const key of catalog.namespaces.keys()) {
    const { namespaces } = await ops.listNamespaces({ id: key === '' ? [] : key.split('/') })
    const below = [...catalog.namespaces.keys()].filter(other => {
      return other !== '' && other.split('/').slice(0, -1).join('/') === key
    })
    expect(namespaces).toEqual(below.map(other => other.split('/').at(-1)).sort())
  }
}

async function compareTable(model: Model, { ops }: Real, id: Path, table: ModelTable): Promise<void> {
  const latest = model.catalog.latest(table)
  const description = await ops.describeTable({ id })
  const { location, uuid } = description
  const place = model.places.get(table.number)
  if (place === undefined) {
    for (const other of model.places.values()) expect(other.location).not.toBe(location)
    model.places.set(table.number, { location, uuid: uuid! })
  } else expect({ location, uuid }).toEqual(place)
  expect(description).toMatchObject({
    table: id.at(-1),
    namespace: id.slice(0, -1),
    properties: table.props,
    is_only_declared: table.kind === 'declared',
  })
  expect(Object.keys(description.properties!).length).toBe(Object.keys(table.props).length)
  expect(description.version).toBe(latest)

  const { versions } = await ops.listTableVersions({ id })
  expect(versions.map(({ version }) => version)).toEqual([...table.versions.keys()].sort((a, b) => a - b))
  for (const [i, { version, manifest_path, timestamp_millis }] of versions.entries()) {
    const { path } = table.versions.get(version)!
    if (path !== undefined) expect(manifest_path).toBe(path)
    if (i > 0) expect(timestamp_millis).toBeGreaterThanOrEqual(versions[i - 1]!.timestamp_millis)
  }
  const { tags } = await ops.listTableTags({ id })
  const found = Object.entries(tags).map(([tag, { version }]) => [tag, version] as const)
  expect(found).toEqual([...table.tags].sort())

  if (table.kind !== 'sheaf') return
  expect(description.metadata).toEqual(table.versions.get(latest!)!.metadata)
  // The newest version, and one of the others, another one each time there is a new one.
  const numbers = [...table.versions.keys()]
  for (const version of new Set([latest!, numbers[table.mark % numbers.length]!])) {
    const { rows } = table.versions.get(version)!
    const count = await ops.countTableRows({ id, version })
    expect(count).toBe(rows.length)
    await compareRows(model, ops, id, table, version)
  }
}

async function compareRows(model: Model, ops: Operations, id: Path, table: ModelTable, version: number) {
  const query = { id, version, k: 1000, vector: null, with_row_id: true } as unknown as Request<'queryTable'>
  const { batches } = readReply(await ops.queryTable(query))
  const rows = batches
    .flatMap(batch => batchToRows(batch))
    .map(row => [row.id as number, row._rowid] as const)
  expect(rows.map(([value]) => value)).toEqual(table.versions.get(version)!.rows)
  expect(new Set(rows.map(([, rowId]) => rowId)).size).toBe(rows.length)
  for (const [value, rowId] of rows) {
    const key = `${table.number} ${value}`
    const known = model.rowIds.get(key)
    if (known === undefined) model.rowIds.set(key, rowId)
    else expect(rowId).toBe(known)
  }
}

async function bodyOf(ids: readonly number[]): Promise<ArrowRows> {
  return tableRows(ids.map(id => ({ id })))
}

// ---- histories

const noteKeys = ['note', 'other'] as const
/** Few names, most of them of tables that are there. */
const tablePath = fc.constantFrom<Path>(['t'], ['t'], ['u'], ['u'], ['a', 't'], ['a', 'b', 't'])
const namespacePath = fc.constantFrom<Path>(['a'], ['a', 'b'], ['c'])
const word = fc.constantFrom('x', 'y')
const count = fc.integer({ min: 1, max: 4 })
const mode = fc.constantFrom('Create' as const, 'ExistOk' as const, 'Overwrite' as const)
const pick = fc.nat(1000)
const tag = fc.constantFrom('p', 'q')

const version = fc.record({ kind: fc.constant('version' as const), id: tablePath, version: pick })
const expire = fc.record({
  kind: fc.constant('expire' as const),
  id: tablePath,
  start: pick,
  end: fc.constantFrom(-1, 1000),
})
const naming = fc.record({ kind: fc.constantFrom('declare' as const, 'deregister' as const), id: tablePath })

export const commands = fc.commands(
  [
    fc.tuple(namespacePath, mode, word).map(args => new CreateNamespace(...args)),
    fc
      .tuple(
        namespacePath,
        fc.constantFrom('Fail' as const, 'Skip' as const),
        fc.constantFrom('Restrict' as const, 'Restrict' as const, 'Cascade' as const),
      )
      .map(args => new DropNamespace(...args)),
    fc.tuple(tablePath, mode, count, word).map(args => new CreateTable(...args)),
    fc
      .tuple(tablePath, fc.constantFrom('Append' as const, 'Append' as const, 'Overwrite' as const), count)
      .map(args => new Insert(...args)),
    fc.tuple(tablePath, fc.integer({ min: 2, max: 4 })).map(args => new DeleteRows(...args)),
    tablePath.map(id => new Declare(id)),
    fc
      .tuple(fc.constantFrom('drop' as const, 'deregister' as const), tablePath)
      .map(args => new Leave(...args)),
    fc
      .tuple(pick, tablePath, fc.constantFrom('Create' as const, 'Overwrite' as const))
      .map(args => new Register(...args)),
    fc.tuple(tablePath, tablePath).map(args => new Rename(...args)),
    fc.tuple(tablePath, pick).map(args => new Restore(...args)),
    fc.tuple(tablePath, word).map(args => new SetMetadata(...args)),
    fc
      .tuple(fc.constantFrom('create' as const, 'update' as const), tablePath, tag, pick)
      .map(args => new SetTag(...args)),
    fc.tuple(tablePath, tag).map(args => new DeleteTag(...args)),
    fc.oneof(version, expire).map(step => new Single(step)),
    fc.array(version, { minLength: 1, maxLength: 4 }).map(steps => new BatchCreate(steps)),
    fc
      .array(fc.oneof(version, expire, naming), { minLength: 1, maxLength: 5 })
      .map(steps => new Batch(steps)),
    fc
      .tuple(
        pick,
        fc.constantFrom(...noteKeys),
        fc.option(word),
        fc.constantFrom('Overwrite' as const, 'Fail' as const, 'Skip' as const),
      )
      .map(args => new Note(...args)),
    pick.map(which => new Again(which)),
    fc.integer({ min: 0, max: 3 }).map(odds => new Reopen(odds === 0)),
  ],
  { maxCommands: 40, size: 'max' },
)

/** Both begin with some of everything, so that histories need not. */
export async function begin(model: Model, real: Real): Promise<void> {
  const setup: Command[] = [
    new CreateNamespace(['a'], 'Create', 'x'),
    new CreateNamespace(['a', 'b'], 'Create', 'x'),
    new CreateTable(['t'], 'Create', 3, 'x'),
    new Insert(['t'], 'Append', 2),
    new Declare(['u']),
    new Single({ kind: 'version', id: ['u'], version: 1 }),
    new SetTag('create', ['t'], 'p', 1),
  ]
  for (const command of setup) await command.run(model, real)
}

/** What a history leaves: everything shows, every transaction is known, also to whoever opens the root next. */
export async function end(model: Model, real: Real): Promise<void> {
  await compareAll(model, real)
  await real.root.reopen()
  await compareAll(model, real)
  for (const transaction of model.transactions) await checkTransaction(real, transaction)
}

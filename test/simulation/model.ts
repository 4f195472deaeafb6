/**
 * What the catalog should be, in plain maps: the operations of `calls.ts` one after another, nothing in between.
 * Immutable; tables and their versions are shared between models.
 */
import { ErrorCode } from '../../src/errors.js'
import { countNumbers, hasNumber, type Runs } from '../../src/manifest/runs.js'
import { type Answer, finalKey, inOrder, lastName, type Op, type Path, type Row, stagedKey } from './calls.js'
import { Violation } from './world.js'

interface Version {
  readonly ts: number
  /** Null: the rows are not ours. */
  readonly rows: readonly Row[] | null
  readonly balance: number | null
  /** UUID of the manifest it came as, in a table that a Lance engine keeps. */
  readonly staging?: string
}

interface Table {
  readonly uuid: string
  readonly kind: 'declared' | 'sheaf' | 'pointer' | 'lance'
  readonly mark: number
  /** Ascending. */
  readonly versions: ReadonlyMap<number, Version>
  readonly tags: ReadonlyMap<string, number>
  /** Versions by the manifest they came as, deleted ones too. */
  readonly staged: ReadonlyMap<string, number>
}

export interface Model {
  /** Namespaces, by path joined by '$'; the root is ''. */
  readonly namespaces: ReadonlySet<string>
  readonly tables: ReadonlyMap<string, Table>
  /** Deregistered, by uuid. */
  readonly detached: ReadonlyMap<string, Table>
  /** Answers of calls that committed with a key. */
  readonly keys: ReadonlyMap<string, Answer>
  /** Notes on transactions, by transaction id; null: none. */
  readonly notes: ReadonlyMap<string, string | null>
}

export const emptyModel: Model = {
  namespaces: new Set(['']),
  tables: new Map(),
  detached: new Map(),
  keys: new Map(),
  notes: new Map(),
}

/** What only the entry in the log can say. */
export interface Facts {
  readonly ts: number
  /** Uuids of the tables it declares, in order. */
  readonly uuids: readonly string[]
  readonly transaction: string
}

export type Verdict =
  | { readonly refused: ErrorCode }
  /** Without `next` nothing is to be committed. */
  | { readonly answer: Answer; readonly next?: Model }

class Refusal {
  constructor(readonly code: ErrorCode) {}
}

const someFacts: Facts = { ts: 0, uuids: [], transaction: '' }

/** What becomes of `op` right after all that made `model`. `facts` matter only where it commits. */
export function decide(model: Model, op: Op, key?: string, facts: Facts = someFacts): Verdict {
  const known = key === undefined ? undefined : model.keys.get(key)
  if (known !== undefined) return { answer: known }
  try {
    const verdict = step(model, op, facts)
    if (!('next' in verdict) || verdict.next === undefined) return verdict
    const { answer, next } = verdict
    const keys = key === undefined ? next.keys : new Map(next.keys).set(key, answer)
    return { answer, next: withTransaction({ ...next, keys }, facts.transaction) }
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.code }
    throw error
  }
}

function step(model: Model, op: Op, facts: Facts): { readonly answer: Answer; readonly next?: Model } {
  switch (op.kind) {
    case 'createNamespace':
      return createNamespace(model, op.id, op.mode)
    case 'dropNamespace': {
      if (op.mode === 'Skip' && !model.namespaces.has(textOf(op.id))) return { answer: {} }
      return { answer: {}, next: withoutNamespace(model, op.id, op.behavior === 'Cascade') }
    }
    case 'createTable':
      return createTable(model, op, facts)
    case 'insert':
      return insert(model, op, facts)
    case 'delete': {
      const table = sheafAt(model, op.id)
      const rows = newest(table).rows!
      const kept = rows.filter(({ id }) => id < op.from || id >= op.to)
      if (kept.length === rows.length) return { answer: { rows: 0, version: lastOf(table) } }
      const answer = { rows: rows.length - kept.length, version: table.mark + 1 }
      return { answer, next: withTable(model, op.id, withRows(table, kept, facts.ts)) }
    }
    case 'update': {
      const table = sheafAt(model, op.id)
      const rows = newest(table).rows!
      const isMeant = ({ id }: Row) => id >= op.from && id < op.to
      const count = rows.filter(isMeant).length
      if (count === 0) return { answer: { rows: 0, version: lastOf(table) } }
      const updated = rows.map(row => (isMeant(row) ? { id: row.id + 100, who: row.who + op.by } : row))
      const answer = { rows: count, version: table.mark + 1 }
      return { answer, next: withTable(model, op.id, withRows(table, updated, facts.ts)) }
    }
    case 'upsert': {
      const table = sheafAt(model, op.id)
      const rows = newest(table).rows!
      const known = new Set(rows.map(({ id }) => id))
      const given = new Map(op.rows.map(row => [row.id, row]))
      const added = op.rows.filter(({ id }) => !known.has(id))
      const replaced = rows.map(row => given.get(row.id) ?? row)
      const updated = rows.filter(({ id }) => given.has(id)).length
      const answer = { updated, inserted: added.length, version: table.mark + 1 }
      return { answer, next: withTable(model, op.id, withRows(table, [...replaced, ...added], facts.ts)) }
    }
    case 'transaction': {
      let next = model
      const results: Answer[] = []
      for (const part of op.parts) {
        const done = step(next, part, facts)
        next = done.next ?? next
        results.push(done.answer)
      }
      return next === model
        ? { answer: { results } }
        : { answer: { results }, next: withoutPassing(model, next, op.parts) }
    }
    case 'restore': {
      const table = tableAt(model, op.id)
      checkRows(table)
      const { rows } = versionAt(table, op.version)
      return {
        answer: {},
        next: withTable(model, op.id, withRows(table, rows!, facts.ts)),
      }
    }
    case 'dropTable':
      tableAt(model, op.id)
      return { answer: {}, next: withoutTable(model, op.id) }
    case 'rename':
      return rename(model, op.id, op.to)
    case 'register': {
      const uuid = lastName(op.location)
      checkFree(model, op.id)
      const table = model.detached.get(uuid)
      // Where nothing is detached there is a table of ours, or what is left of one.
      if (table === undefined) throw new Refusal(ErrorCode.InvalidInput)
      const detached = new Map(model.detached)
      detached.delete(uuid)
      return { answer: { uuid }, next: withTable({ ...model, detached }, op.id, table) }
    }
    case 'createTag':
    case 'updateTag': {
      const table = tableAt(model, op.id)
      if (table.tags.has(op.tag) !== (op.kind === 'updateTag')) {
        throw new Refusal(op.kind === 'updateTag' ? ErrorCode.TagNotFound : ErrorCode.TagAlreadyExists)
      }
      versionAt(table, op.version)
      return { answer: {}, next: withTag(model, op.id, table, op.tag, op.version) }
    }
    case 'deleteTag': {
      const table = tableAt(model, op.id)
      if (!table.tags.has(op.tag)) throw new Refusal(ErrorCode.TagNotFound)
      return { answer: {}, next: withTag(model, op.id, table, op.tag, null) }
    }
    case 'declare': {
      checkFree(model, op.id)
      const [uuid = ''] = facts.uuids
      return { answer: { uuid }, next: withTable(model, op.id, newTable(uuid)) }
    }
    case 'deregister': {
      const table = tableAt(model, op.id)
      const without = withoutTable(model, op.id)
      const detached = new Map(model.detached).set(table.uuid, table)
      return { answer: { uuid: table.uuid }, next: { ...without, detached } }
    }
    case 'createVersion': {
      const { id, version, balance } = op
      const table = tableAt(model, id)
      if (table.kind === 'sheaf') throw new Refusal(ErrorCode.Unsupported)
      if (table.kind === 'lance') throw new Refusal(ErrorCode.InvalidInput)
      if (version <= table.mark) throw new Refusal(ErrorCode.ConcurrentModification)
      const record = { ts: facts.ts, rows: null, balance }
      const versions = new Map(table.versions).set(version, record)
      const next = withTable(model, id, { ...table, kind: 'pointer', mark: version, versions })
      return { answer: { version, balance, echoed: true }, next }
    }
    case 'commitManifest': {
      const { id, uuid, version, staging } = op
      const table = tableAt(model, id)
      const final = { version, path: lastName(finalKey(uuid, version)) }
      if (table.staged.get(staging) === version) return { answer: final }
      if (table.kind === 'sheaf') throw new Refusal(ErrorCode.Unsupported)
      if (version <= table.mark) throw new Refusal(ErrorCode.ConcurrentModification)
      const isPointer = table.kind === 'pointer'
      // What was staged for another table is not there.
      if (!isPointer && table.uuid !== uuid) throw new Refusal(ErrorCode.InvalidInput)
      if (!isPointer && version !== table.mark + 1) throw new Refusal(ErrorCode.ConcurrentModification)
      const record = { ts: facts.ts, rows: null, balance: null, ...(!isPointer && { staging }) }
      const versions = new Map(table.versions).set(version, record)
      const staged = isPointer ? table.staged : new Map(table.staged).set(staging, version)
      const kind = isPointer ? 'pointer' : 'lance'
      const answer = isPointer ? { version, path: lastName(stagedKey(op)) } : final
      return { answer, next: withTable(model, id, { ...table, kind, mark: version, versions, staged }) }
    }
    case 'deleteVersions': {
      const table = tableAt(model, op.id)
      const last = lastOf(table)
      const gone = [...table.versions.keys()].filter(version => {
        if (version < op.from || (op.to !== -1 && version >= op.to)) return false
        return table.kind === 'pointer' || version !== last
      })
      if ([...table.tags.values()].some(version => gone.includes(version))) {
        throw new Refusal(ErrorCode.InvalidTableState)
      }
      const answer = { count: gone.length }
      if (gone.length === 0) return { answer }
      const versions = new Map(table.versions)
      for (const version of gone) versions.delete(version)
      return { answer, next: withTable(model, op.id, { ...table, versions }) }
    }
    case 'batchCreate':
    case 'batchCommit': {
      let next = model
      let uuids = facts.uuids
      const results = op.parts.map(part => {
        const done = step(next, part, { ...facts, uuids })
        if (part.kind === 'declare') uuids = uuids.slice(1)
        next = done.next ?? next
        return done.answer
      })
      return next === model ? { answer: { results } } : { answer: { results }, next }
    }
    case 'note': {
      if (!model.notes.has(op.transaction)) throw new Refusal(ErrorCode.TransactionNotFound)
      const answer = { status: 'Succeeded', note: op.value }
      if (model.notes.get(op.transaction) === op.value) return { answer }
      return { answer, next: { ...model, notes: new Map(model.notes).set(op.transaction, op.value) } }
    }
    case 'describeTransaction': {
      const note = model.notes.get(op.transaction)
      if (note === undefined) throw new Refusal(ErrorCode.TransactionNotFound)
      return { answer: { status: 'Succeeded', note } }
    }
    case 'listNamespaces': {
      checkNamespace(model, op.id)
      return { answer: { names: namesIn(model.namespaces, op.id) } }
    }
    case 'listTables': {
      checkNamespace(model, op.id)
      return { answer: { names: namesIn(model.tables.keys(), op.id) } }
    }
    case 'describe': {
      const table = tableAt(model, op.id)
      return { answer: { uuid: table.uuid, version: lastOf(table) ?? null, hasRows: table.kind === 'sheaf' } }
    }
    case 'listVersions': {
      const { versions } = tableAt(model, op.id)
      return { answer: { versions: [...versions].map(([v, { ts, balance }]) => [v, ts, balance]) } }
    }
    case 'listTags': {
      const { tags } = tableAt(model, op.id)
      return { answer: { tags: [...tags].sort(([a], [b]) => (a < b ? -1 : 1)) } }
    }
    case 'query': {
      const table = tableAt(model, op.id)
      if (table.kind !== 'lance') checkRows(table)
      const version = op.version ?? lastOf(table)
      const { rows } = versionAt(table, version)
      // The staged manifests of these worlds are not manifests of Lance.
      if (table.kind === 'lance') throw new Refusal(ErrorCode.InvalidInput)
      return { answer: { version, rows: inOrder(rows!) } }
    }
  }
}

// ---- namespaces

function createNamespace(model: Model, id: Path, mode: 'Create' | 'ExistOk' | 'Overwrite') {
  const known = model.namespaces.has(textOf(id))
  if (known && mode === 'Create') throw new Refusal(ErrorCode.NamespaceAlreadyExists)
  if (known && mode === 'ExistOk') return { answer: {} }
  const before = known ? withoutNamespace(model, id, true) : model
  checkNamespace(model, id.slice(0, -1))
  const namespaces = new Set(before.namespaces).add(textOf(id))
  return { answer: {}, next: { ...before, namespaces } }
}

function withoutNamespace(model: Model, id: Path, cascade: boolean): Model {
  checkNamespace(model, id)
  const below = `${textOf(id)}$`
  const isBelow = (text: string) => text.startsWith(below)
  const full = [...model.namespaces, ...model.tables.keys()].some(isBelow)
  if (full && !cascade) throw new Refusal(ErrorCode.NamespaceNotEmpty)
  const namespaces = new Set([...model.namespaces].filter(text => text !== textOf(id) && !isBelow(text)))
  const tables = new Map([...model.tables].filter(([text]) => !isBelow(text)))
  return { ...model, namespaces, tables }
}

function checkNamespace(model: Model, id: Path): void {
  if (!model.namespaces.has(textOf(id))) throw new Refusal(ErrorCode.NamespaceNotFound)
}

function namesIn(texts: Iterable<string>, id: Path): string[] {
  const prefix = id.length === 0 ? '' : `${textOf(id)}$`
  return [...texts]
    .filter(text => text !== '' && text.startsWith(prefix) && !text.slice(prefix.length).includes('$'))
    .map(text => text.slice(prefix.length))
    .sort()
}

// ---- tables

function createTable(model: Model, op: Op & { readonly kind: 'createTable' }, facts: Facts) {
  const known = model.tables.get(textOf(op.id))
  if (known !== undefined && known.versions.size > 0) {
    if (op.mode === 'Create') throw new Refusal(ErrorCode.TableAlreadyExists)
    if (op.mode === 'ExistOk') return { answer: { uuid: known.uuid, version: lastOf(known) } }
  }
  if (known !== undefined) checkRows(known)
  if (known === undefined) checkNamespace(model, op.id.slice(0, -1))
  const table = known ?? newTable(facts.uuids[0] ?? '')
  const answer = { uuid: table.uuid, version: table.mark + 1 }
  return { answer, next: withTable(model, op.id, withRows(table, op.rows, facts.ts)) }
}

function insert(model: Model, op: Op & { readonly kind: 'insert' }, facts: Facts) {
  const table = tableAt(model, op.id)
  const keeps = op.mode === 'Append' && table.kind !== 'declared'
  const before = keeps ? newest(sheafAt(model, op.id)).rows! : []
  checkRows(table)
  const answer = { rows: op.rows.length, version: table.mark + 1 }
  return { answer, next: withTable(model, op.id, withRows(table, [...before, ...op.rows], facts.ts)) }
}

function rename(model: Model, id: Path, to: Path) {
  const table = tableAt(model, id)
  checkNamespace(model, to.slice(0, -1))
  if (textOf(id) === textOf(to)) return { answer: {} }
  checkFree(model, to)
  return { answer: {}, next: withTable(withoutTable(model, id), to, table) }
}

/** Of the versions that a transaction made of a table the last one stays. */
function withoutPassing(before: Model, after: Model, parts: readonly { readonly id: Path }[]): Model {
  return parts.reduce((model, { id }) => {
    const table = tableAt(model, id)
    const mark = tableAt(before, id).mark
    const versions = [...table.versions].filter(([version]) => version <= mark || version === table.mark)
    return withTable(model, id, { ...table, versions: new Map(versions) })
  }, after)
}

function newTable(uuid: string): Table {
  return { uuid, kind: 'declared', mark: 0, versions: new Map(), tags: new Map(), staged: new Map() }
}

function withRows(table: Table, rows: readonly Row[], ts: number): Table {
  const mark = table.mark + 1
  const versions = new Map(table.versions).set(mark, { ts, rows, balance: null })
  return { ...table, kind: 'sheaf', mark, versions }
}

function withTable(model: Model, id: Path, table: Table): Model {
  return { ...model, tables: new Map(model.tables).set(textOf(id), table) }
}

function withoutTable(model: Model, id: Path): Model {
  const tables = new Map(model.tables)
  tables.delete(textOf(id))
  return { ...model, tables }
}

function withTag(model: Model, id: Path, table: Table, tag: string, version: number | null): Model {
  const tags = new Map(table.tags)
  if (version === null) tags.delete(tag)
  else tags.set(tag, version)
  return withTable(model, id, { ...table, tags })
}

function checkFree(model: Model, id: Path): void {
  checkNamespace(model, id.slice(0, -1))
  if (model.tables.has(textOf(id))) throw new Refusal(ErrorCode.TableAlreadyExists)
}

function tableAt(model: Model, id: Path): Table {
  const table = model.tables.get(textOf(id))
  if (table === undefined) throw new Refusal(ErrorCode.TableNotFound)
  return table
}

/** A table whose rows can be changed. */
function sheafAt(model: Model, id: Path): Table {
  const table = tableAt(model, id)
  checkRows(table)
  newest(table)
  return table
}

function checkRows({ kind }: Table): void {
  if (kind === 'pointer' || kind === 'lance') throw new Refusal(ErrorCode.Unsupported)
}

function versionAt(table: Table, version: number | undefined): Version {
  const record = version === undefined ? undefined : table.versions.get(version)
  if (record === undefined) throw new Refusal(ErrorCode.TableVersionNotFound)
  return record
}

function newest(table: Table): Version {
  return versionAt(table, lastOf(table))
}

function lastOf(table: Table): number | undefined {
  return [...table.versions.keys()].at(-1)
}

export function textOf(id: Path): string {
  return id.join('$')
}

/** The money in the tables of a namespace. */
export function sumOfBalances(model: Model, namespace: string): number {
  let sum = 0
  for (const [id, table] of model.tables) {
    if (id.startsWith(`${namespace}$`) && table.versions.size > 0) sum += newest(table).balance ?? 0
  }
  return sum
}

/** With a new version of a table that has the rows of its newest. */
export function withSameRows(model: Model, uuid: string, ts: number): Model {
  const tables = new Map(model.tables)
  for (const [id, table] of tables) {
    if (table.uuid === uuid) tables.set(id, withRows(table, versionAt(table, lastOf(table)!).rows!, ts))
  }
  return { ...model, tables }
}

/** With a version that a Lance engine wrote without asking; `content`: what tells its manifest from others. */
export function withAdopted(model: Model, uuid: string, version: number, content: string, ts: number): Model {
  const withVersion = (id: string, table: Table): Table => {
    if (table.uuid !== uuid) return table
    const isOfEngine = table.kind === 'lance' || table.kind === 'declared'
    if (!isOfEngine || version <= table.mark)
      throw new Violation(`version ${version} of ${id} is recorded twice`)
    const record = { ts, rows: null, balance: null, staging: content }
    const versions = new Map(table.versions).set(version, record)
    const staged = new Map(table.staged).set(content, version)
    return { ...table, kind: 'lance', mark: version, versions, staged }
  }
  const adopted = (tables: Model['tables']) =>
    new Map([...tables].map(([id, table]) => [id, withVersion(id, table)]))
  return { ...model, tables: adopted(model.tables), detached: adopted(model.detached) }
}

/** With a transaction of the log, on which callers can leave notes. */
export function withTransaction(model: Model, transaction: string): Model {
  return { ...model, notes: new Map(model.notes).set(transaction, null) }
}

/** Tables of Lance engines by their uuid, with the number of their newest version and what tells the manifest of each version. */
export function* engineTables(model: Model) {
  for (const { uuid, kind, mark, versions } of model.tables.values()) {
    if (kind === 'lance')
      yield { uuid, mark, contents: new Map([...versions].map(([v, { staging }]) => [v, staging])) }
  }
}

/** Without versions of a table that were too old. */
export function withoutVersions(model: Model, uuid: string, runs: Runs): Model {
  const tables = new Map(model.tables)
  for (const [id, table] of tables) {
    if (table.uuid !== uuid) continue
    const left = [...table.versions].filter(([version]) => !hasNumber(runs, version))
    const gone = table.versions.size - left.length
    if (gone !== countNumbers(runs) || lastOf(table) !== left.at(-1)?.[0]) {
      throw new Violation(`maintenance expired versions ${JSON.stringify(runs)} of table ${uuid}`)
    }
    for (const version of table.tags.values()) {
      if (hasNumber(runs, version))
        throw new Violation(`maintenance expired version ${version}, which has a tag`)
    }
    tables.set(id, { ...table, versions: new Map(left) })
  }
  return { ...model, tables }
}

/** Everything a model says about what can be seen, as calls and their answers. */
export function* sights(model: Model): Generator<readonly [op: Op, answer: Answer]> {
  const look = (op: Op): readonly [Op, Answer] => [op, (decide(model, op) as { answer: Answer }).answer]
  for (const text of model.namespaces) {
    const id = text === '' ? [] : text.split('$')
    yield look({ kind: 'listNamespaces', id })
    yield look({ kind: 'listTables', id })
  }
  for (const [text, { kind, tags }] of model.tables) {
    const id = text.split('$')
    yield look({ kind: 'describe', id })
    yield look({ kind: 'listVersions', id })
    if (tags.size > 0) yield look({ kind: 'listTags', id })
    if (kind === 'sheaf') yield look({ kind: 'query', id })
  }
}

/** The rows of every version there is. */
export function* oldRows(model: Model): Generator<readonly [op: Op, answer: Answer]> {
  for (const [text, { kind, versions }] of model.tables) {
    if (kind !== 'sheaf') continue
    for (const version of versions.keys()) {
      const op: Op = { kind: 'query', id: text.split('$'), version }
      yield [op, (decide(model, op) as { answer: Answer }).answer]
    }
  }
}

/** The manifests of Lance engines that must lie under their final names, and how each was staged. */
export function* manifests(model: Model): Generator<{ readonly key: string; readonly staging: string }> {
  for (const { uuid, kind, versions } of model.tables.values()) {
    if (kind !== 'lance') continue
    for (const [version, { staging }] of versions) yield { key: finalKey(uuid, version), staging: staging! }
  }
}

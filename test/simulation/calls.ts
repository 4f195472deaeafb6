/** What the callers of a simulated world ask for, as data, and how it is sent. Answers are plain values, for comparison. */
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { Schema } from '../../src/arrow/types.js'
import { batchToRows } from '../../src/arrow/values.js'
import { ArrowRows } from '../../src/client/arrow-rows.js'
import { readReply } from '../../src/client/read-replies.js'
import type { Namespace } from '../../src/index.js'
import type { CallOptions, Request } from '../../src/protocol/calls.js'
import { manifestName } from '../../src/protocol/manifest-name.js'

export type Path = readonly string[]

/** `who` tells rows apart and makes them small (in the slot) or large (in a file). */
export interface Row {
  readonly id: number
  readonly who: string
}

export interface NewVersion {
  readonly kind: 'createVersion'
  readonly id: Path
  readonly version: number
  readonly balance: number
  /** Characters to carry along. */
  readonly padding?: number
}

export type Part =
  | NewVersion
  | { readonly kind: 'declare'; readonly id: Path }
  | { readonly kind: 'deregister'; readonly id: Path }
  /** `to` is exclusive. */
  | { readonly kind: 'deleteVersions'; readonly id: Path; readonly from: number; readonly to: number }

/** Changes of rows that can be part of a transaction. */
export type RowPart =
  /** Rows with `from <= id < to`. */
  | { readonly kind: 'delete'; readonly id: Path; readonly from: number; readonly to: number }
  /** Adds `by` to the end of `who`, and a multiple of 100 to the id. */
  | {
      readonly kind: 'update'
      readonly id: Path
      readonly from: number
      readonly to: number
      readonly by: string
    }
  /** Replaces rows by their id, and adds those that are new; no id comes twice. */
  | { readonly kind: 'upsert'; readonly id: Path; readonly rows: readonly Row[] }

export type Op =
  | Part
  /** A version whose manifest a Lance engine has staged for the table of that uuid. */
  | {
      readonly kind: 'commitManifest'
      readonly id: Path
      readonly uuid: string
      readonly version: number
      readonly staging: string
    }
  | { readonly kind: 'createNamespace'; readonly id: Path; readonly mode: 'Create' | 'ExistOk' | 'Overwrite' }
  | {
      readonly kind: 'dropNamespace'
      readonly id: Path
      readonly mode: 'Fail' | 'Skip'
      readonly behavior: 'Restrict' | 'Cascade'
    }
  | {
      readonly kind: 'createTable'
      readonly id: Path
      readonly mode: 'Create' | 'ExistOk' | 'Overwrite'
      readonly rows: readonly Row[]
    }
  | {
      readonly kind: 'insert'
      readonly id: Path
      readonly mode: 'Append' | 'Overwrite'
      readonly rows: readonly Row[]
    }
  | RowPart
  /** All of them at once, or none. */
  | { readonly kind: 'transaction'; readonly parts: readonly RowPart[] }
  | { readonly kind: 'dropTable'; readonly id: Path }
  | { readonly kind: 'rename'; readonly id: Path; readonly to: Path }
  | { readonly kind: 'register'; readonly id: Path; readonly location: string }
  | { readonly kind: 'restore'; readonly id: Path; readonly version: number }
  | {
      readonly kind: 'createTag' | 'updateTag'
      readonly id: Path
      readonly tag: string
      readonly version: number
    }
  | { readonly kind: 'deleteTag'; readonly id: Path; readonly tag: string }
  | { readonly kind: 'batchCreate'; readonly parts: readonly NewVersion[] }
  | { readonly kind: 'batchCommit'; readonly parts: readonly Part[] }
  | { readonly kind: 'note'; readonly transaction: string; readonly value: string }
  | { readonly kind: 'describeTransaction'; readonly transaction: string }
  | { readonly kind: 'listNamespaces' | 'listTables'; readonly id: Path }
  | { readonly kind: 'describe' | 'listVersions' | 'listTags'; readonly id: Path }
  | { readonly kind: 'query'; readonly id: Path; readonly version?: number }

export type Answer = Readonly<Record<string, unknown>>

export interface Sent {
  readonly answer: Answer
  /** The transaction the reply names. */
  readonly transaction?: string | undefined
}

const rowSchema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'float', bits: 64 }, nullable: true },
    { name: 'who', type: { kind: 'utf8', large: false }, nullable: true },
  ],
}

/** Sends `op` and waits for its answer. */
export async function send(ns: Namespace, op: Op, options: CallOptions): Promise<Sent> {
  const { operations } = ns
  switch (op.kind) {
    case 'createNamespace': {
      const { id, mode } = op
      const reply = await operations.createNamespace({ id, mode }, options)
      return { answer: {}, transaction: reply.transaction_id }
    }
    case 'dropNamespace': {
      const { id, mode, behavior } = op
      const reply = await operations.dropNamespace({ id, mode, behavior }, options)
      return { answer: {}, transaction: reply.transaction_id?.[0] }
    }
    case 'createTable': {
      const { id, mode, rows } = op
      const reply = await operations.createTable({ id, mode }, body(rows), options)
      const answer = { uuid: uuidAt(reply.location!), version: reply.version }
      return { answer, transaction: reply.transaction_id }
    }
    case 'insert': {
      const { id, mode, rows } = op
      const reply = await operations.insertIntoTable({ id, mode }, body(rows), options)
      const answer = { rows: reply.num_inserted_rows, version: reply.version }
      return { answer, transaction: reply.transaction_id }
    }
    case 'delete': {
      const predicate = `id >= ${op.from} AND id < ${op.to}`
      const reply = await operations.deleteFromTable({ id: op.id, predicate }, options)
      const answer = { rows: reply.num_deleted_rows, version: reply.version }
      // Of a delete that met no row it is that of an earlier commit (rule A-110).
      return { answer, transaction: reply.num_deleted_rows === 0 ? undefined : reply.transaction_id }
    }
    case 'update': {
      const predicate = `id >= ${op.from} AND id < ${op.to}`
      const updates = [
        ['who', `who || '${op.by}'`],
        ['id', 'id + 100'],
      ] as const
      const reply = await operations.updateTable({ id: op.id, predicate, updates }, options)
      const answer = { rows: reply.updated_rows, version: reply.version }
      return { answer, transaction: reply.updated_rows === 0 ? undefined : reply.transaction_id }
    }
    case 'upsert': {
      const request = {
        id: op.id,
        on: ['id'],
        when_matched_update_all: true,
        when_not_matched_insert_all: true,
      }
      const reply = await operations.mergeInsertIntoTable(request, body(op.rows), options)
      const { num_updated_rows: updated, num_inserted_rows: inserted, version } = reply
      return { answer: { updated, inserted, version }, transaction: reply.transaction_id }
    }
    case 'transaction': {
      const results = await ns.transaction(async tx => {
        const answers: Answer[] = []
        for (const part of op.parts) answers.push((await send(tx, part, {})).answer)
        return answers
      }, options)
      return { answer: { results } }
    }
    case 'dropTable': {
      const reply = await operations.dropTable({ id: op.id }, options)
      return { answer: {}, transaction: reply.transaction_id }
    }
    case 'rename': {
      const namespace = op.to.slice(0, -1)
      const where = namespace.length === 0 ? { to_root: true } : { new_namespace_id: namespace }
      const request = { id: op.id, new_table_name: op.to.at(-1)!, ...where }
      const reply = await operations.renameTable(request, options)
      return { answer: {}, transaction: reply.transaction_id }
    }
    case 'register': {
      const { id, location } = op
      const reply = await operations.registerTable({ id, location }, options)
      return { answer: { uuid: uuidAt(reply.location) }, transaction: reply.transaction_id }
    }
    case 'restore': {
      const reply = await operations.restoreTable({ id: op.id, version: op.version }, options)
      return { answer: {}, transaction: reply.transaction_id }
    }
    case 'createTag':
    case 'updateTag': {
      const { id, tag, version } = op
      const call = op.kind === 'createTag' ? operations.createTableTag : operations.updateTableTag
      return { answer: {}, transaction: (await call({ id, tag, version }, options)).transaction_id }
    }
    case 'deleteTag': {
      const reply = await operations.deleteTableTag({ id: op.id, tag: op.tag }, options)
      return { answer: {}, transaction: reply.transaction_id }
    }
    case 'declare': {
      const reply = await operations.declareTable({ id: op.id }, options)
      return { answer: { uuid: uuidAt(reply.location) }, transaction: reply.transaction_id }
    }
    case 'deregister': {
      const reply = await operations.deregisterTable({ id: op.id }, options)
      return { answer: { uuid: uuidAt(reply.location) }, transaction: reply.transaction_id }
    }
    case 'createVersion': {
      const reply = await operations.createTableVersion(newVersion(op), options)
      return { answer: versionAnswer(reply.version), transaction: reply.transaction_id }
    }
    case 'commitManifest': {
      const { id, version } = op
      const manifest_path = stagedKey(op)
      const reply = await operations.createTableVersion({ id, version, manifest_path }, options)
      const answer = { version: reply.version.version, path: lastName(reply.version.manifest_path) }
      return { answer, transaction: reply.transaction_id }
    }
    case 'deleteVersions': {
      const reply = await operations.batchDeleteTableVersions(deletedVersions(op), options)
      return { answer: { count: reply.deleted_count }, transaction: reply.transaction_id }
    }
    case 'batchCreate': {
      const reply = await operations.batchCreateTableVersions({ entries: op.parts.map(newVersion) }, options)
      const answer = { results: reply.versions.map(versionAnswer) }
      return { answer, transaction: reply.transaction_id }
    }
    case 'batchCommit': {
      const reply = await operations.batchCommitTables({ operations: op.parts.map(part) }, options)
      const results = reply.results.map((result): Answer => {
        if (result.create_table_version !== undefined)
          return versionAnswer(result.create_table_version.version)
        if (result.delete_table_versions !== undefined) {
          return { count: result.delete_table_versions.deleted_count }
        }
        return { uuid: uuidAt((result.declare_table ?? result.deregister_table!).location) }
      })
      return { answer: { results }, transaction: reply.transaction_id }
    }
    case 'note': {
      const actions = [{ setPropertyAction: { key: 'note', value: op.value } }]
      const reply = await operations.alterTransaction({ id: [op.transaction], actions }, options)
      return { answer: { status: reply.status, note: reply.properties.note ?? null } }
    }
    case 'describeTransaction': {
      const reply = await operations.describeTransaction({ id: [op.transaction] }, options)
      return { answer: { status: reply.status, note: reply.properties.note ?? null } }
    }
    case 'listNamespaces':
      return { answer: { names: (await operations.listNamespaces({ id: op.id }, options)).namespaces } }
    case 'listTables':
      return { answer: { names: (await operations.listTables({ id: op.id }, options)).tables } }
    case 'describe': {
      const { location, version, schema } = await operations.describeTable({ id: op.id }, options)
      return { answer: { uuid: uuidAt(location), version: version ?? null, hasRows: schema !== undefined } }
    }
    case 'listVersions': {
      const { versions } = await operations.listTableVersions({ id: op.id }, options)
      const answer = versions.map(({ version, timestamp_millis, metadata }) => {
        return [version, timestamp_millis, metadata?.balance === undefined ? null : Number(metadata.balance)]
      })
      return { answer: { versions: answer } }
    }
    case 'listTags': {
      const { tags } = await operations.listTableTags({ id: op.id }, options)
      return { answer: { tags: Object.entries(tags).map(([tag, { version }]) => [tag, version]) } }
    }
    case 'query': {
      const { id, version } = op
      const request = { id, vector: null, k: 1000, ...(version !== undefined && { version }) }
      const reply = await operations.queryTable(request as Request<'queryTable'>, options)
      const rows = readReply(reply).batches.flatMap(batch => batchToRows(batch))
      return {
        answer: {
          version: reply.version,
          rows: inOrder(rows.map(({ id, who }) => ({ id: Number(id), who: String(who) }))),
        },
      }
    }
  }
}

/** Rows as an answer has them. Where a row that was updated stands is nobody's promise. */
export function inOrder(rows: readonly Row[]): readonly (readonly [number, string])[] {
  return rows
    .map(({ id, who }) => [id, digest(who)] as const)
    .sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))
}

/** The part of `who` that tells rows apart. */
function digest(who: string): string {
  return `${who.slice(0, 12)}/${who.length}/${who.slice(-3)}`
}

function body(rows: readonly Row[]): ArrowRows {
  return new ArrowRows(rowSchema, [rowsToBatch(rows, rowSchema)])
}

/** Tables are told apart by the last name of their location. */
function uuidAt(location: string): string {
  return lastName(location)
}

export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Where a Lance engine's manifest lies once its version is committed. */
export function finalKey(uuid: string, version: number): string {
  return `tables/${uuid}/_versions/${manifestName(version, 'V2')}`
}

export function stagedKey({ uuid, version, staging }: Op & { readonly kind: 'commitManifest' }): string {
  return `${finalKey(uuid, version)}-${staging}`
}

function newVersion({ id, version, balance, padding = 0 }: NewVersion): Request<'createTableVersion'> {
  const metadata = { balance: String(balance), padding: '.'.repeat(padding) }
  return { id, version, manifest_path: pathOf(version), metadata }
}

function pathOf(version: number): string {
  return `elsewhere/${version}`
}

function versionAnswer(record: {
  readonly version: number
  readonly manifest_path: string
  readonly metadata?: Readonly<Record<string, string>> | undefined
}): Answer {
  return {
    version: record.version,
    balance: Number(record.metadata?.balance),
    echoed: record.manifest_path === pathOf(record.version),
  }
}

function deletedVersions(
  op: Part & { readonly kind: 'deleteVersions' },
): Request<'batchDeleteTableVersions'> {
  return { id: op.id, ranges: [{ start_version: op.from, end_version: op.to }] }
}

function part(op: Part): Request<'batchCommitTables'>['operations'][number] {
  switch (op.kind) {
    case 'createVersion':
      return { create_table_version: newVersion(op) }
    case 'deleteVersions':
      return { delete_table_versions: deletedVersions(op) }
    case 'declare':
      return { declare_table: { id: op.id } }
    case 'deregister':
      return { deregister_table: { id: op.id } }
  }
}

/** Handlers of the operations that create and drop indexes. engine/index-build.ts has the job that builds an index. */

import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import { type IndexSpec, queuedBuild } from '../catalog/index-builds.js'
import { checkRows, findTable, versionOf } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import { ErrorCode, invalidInput, quote, SheafError, unsupported } from '../errors.js'
import { familyOf, type IndexKind } from '../indexes/kind.js'
import { probesOfKind, type ScalarKind } from '../indexes/scalar/probe.js'
import { indexableBy } from '../indexes/scalar/segment-schema.js'
import type { Analyzers } from '../indexes/text/analysis/analyzers.js'
import { holdsNoText, isSameText, textDefinition, textFields } from '../indexes/text/definition.js'
import { isTextKind, textKind } from '../indexes/text/kind.js'
import type { TextOptions } from '../indexes/text/options.js'
import { isVectorKind, vectorKinds } from '../indexes/vector/kind.js'
import { rowBytes } from '../indexes/vector/settings.js'
import { endedOp } from '../jobs/job-op.js'
import { findField, findFieldById, pathText, typeOf } from '../manifest/field-node.js'
import { countRows, type Layout } from '../manifest/layout.js'
import type { RecentChange } from '../manifest/recent-changes.js'
import { featuresOfKinds, indexesFeature } from '../manifest/table-index.js'
import { inBackticks } from '../primitives/in-backticks.js'
import type { Memory } from '../primitives/memory.js'
import type { Handler, HandlerOptions, Reply } from '../protocol/calls.js'
import { checkIndexName, idText } from '../protocol/identifiers.js'
import type { CreateIndexRequest, IndexType } from '../protocol/index-shapes.js'
import { commitOnNewest, requirementsOf } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { indexChange } from '../root/index-change.js'
import { holdsText } from '../table/text-column.js'
import { vectorType } from '../table/vector-column.js'
import { findIndex, type Shown, shownIndexes } from './index-records.js'
import { holdsNoVectors, isSameDefinition, vectorDefinition, vectorFields } from './vector-definition.js'

// ---- create

/**
 * Queue a job that builds an index. An index whose build is queued or running counts as an existing index. If the
 * request has the same definition, the reply contains the id of the job of that build.
 */
export const createTableIndex: Handler<Engine, 'createTableIndex'> = async (engine, request, options) => {
  const { id, column, index_type: type } = request
  const requestedKind = type === undefined ? null : knownKind(type)
  if (requestedKind !== null) checkFamily(request, requestedKind)
  const replace = request.replace ?? options.dialect === 'lance'
  const find = tableFinder(id, options)
  const uuid = engine.clock.uuid()
  const { reply } = await commitOnNewest<Layout, Reply<'createTableIndex'>>(
    engine,
    {
      id,
      find,
      prepare: async open => open!.layout,
      decide(state, layout, { transactionId, ts }) {
        const head = find(state)
        const kind = requestedKind ?? defaultKind(layout, request, engine.source.memory)
        if (requestedKind === null) checkFamily(request, kind)
        const definition = indexableField(layout, request, kind, engine.source.analyzers)
        const { field, vector, text } = definition
        const known = shownIndexes(layout, state).filter(({ index, build }) => (index ?? build) !== null)
        const name = request.name ?? defaultName(pathOf(layout, column), kind, field, known)
        const before = known.find(({ spec }) => spec.name === name)
        const isSame =
          before?.spec.kind === kind &&
          before.spec.field === field &&
          isSameDefinition(before.spec.vector, vector) &&
          isSameText(before.spec.text, text)
        // Clients of LanceDB expect an error even if the existing index has the same definition.
        if (before !== undefined && request.replace === false && options.dialect === 'lance')
          throw alreadyExists(head, layout, before.spec)
        if (isSame && before.build !== null) {
          return { ops: [], reply: { transaction_id: before.build.job, index_name: name } }
        }
        if (before !== undefined && !replace) {
          if (isSame) return { ops: [], reply: { index_name: name } }
          throw alreadyExists(head, layout, before.spec)
        }
        const ops: CatalogOp[] = [
          queuedBuild({ name, uuid, kind, ts, ...definition }, head.uuid, registeredIn(engine, text)),
        ]
        if (before !== undefined && before.build !== null) {
          ops.push(endedOp(before.build.job, 'Canceled', 'another index takes its name'))
        }
        return {
          ops,
          need: featuresOfKinds([kind]),
          reply: { transaction_id: transactionId, index_name: name },
        }
      },
      outlives: keepsColumnsAndIndexes,
    },
    options,
  )
  return reply
}

function knownKind(type: IndexType): IndexKind {
  if (isVectorKind(type) || isTextKind(type)) return type
  if (Object.hasOwn(probesOfKind, type)) return type as ScalarKind
  throw unsupported(`indexes of type ${type} are not supported yet`, {
    hint: `use one of ${[...Object.keys(probesOfKind), textKind, ...vectorKinds].join(', ')}`,
  })
}

/**
 * Return the default kind of index for a column: BTREE, or LABEL_LIST for lists of labels. For vectors, the default is
 * IVF_HNSW_SQ if its graph takes at most half of the cache, because the graph then stays in memory. Otherwise the
 * default is IVF_PQ, because a search then reads only some of its lists.
 */
function defaultKind(
  layout: Layout,
  { column, distance_type }: CreateIndexRequest,
  memory: Memory,
): IndexKind {
  const type = typeOf(findField(layout.schema, column).at(-1)!)
  const vectors = vectorType(type)
  if (vectors === null)
    return indexableBy('BTREE', type) || !indexableBy('LABEL_LIST', type) ? 'BTREE' : 'LABEL_LIST'
  if (distance_type === 'hamming') return 'IVF_FLAT'
  const graph = { kind: 'IVF_HNSW_SQ', metric: distance_type ?? 'l2', parameters: {} } as const
  return memory.canHold(countRows(layout) * rowBytes(graph, vectors.size)) ? graph.kind : 'IVF_PQ'
}

/**
 * Return the name of the tokenizer of the index if it is a custom tokenizer of this process. Otherwise returns
 * undefined.
 */
function registeredIn({ source }: Engine, text: TextOptions | undefined): string | undefined {
  return source.analyzers.custom.find(({ name }) => name === text?.baseTokenizer)?.name
}

/** Check that the request has no option that `kind` does not support. Throws `InvalidInput`. */
function checkFamily(request: CreateIndexRequest, kind: IndexKind): void {
  const isGiven = (field: keyof CreateIndexRequest) => request[field] !== undefined
  // The distance type of a scalar index is ignored, because some clients always send it.
  const isRelevant = (field: keyof CreateIndexRequest) =>
    isGiven(field) && !(field === 'distance_type' && familyOf(kind) === 'scalar')
  const vectorField = isVectorKind(kind) ? undefined : vectorFields.find(isRelevant)
  const textField = isTextKind(kind) ? undefined : textFields.find(isGiven)
  const name = vectorField ?? textField
  if (name === undefined) return
  throw invalidInput(`${familyOf(kind) === 'scalar' ? 'a' : 'an'} ${kind} index has no use for ${name}`, {
    hint: `leave it out; it is for ${vectorField === undefined ? textKind : 'indexes of vectors'}`,
  })
}

/**
 * Return the id of the field to index, and the definition of a vector or text index. Throws `ColumnNotFound` for an
 * unknown column, and `InvalidInput` if the kind of index does not support the type of the column.
 */
function indexableField(
  layout: Layout,
  request: CreateIndexRequest,
  kind: IndexKind,
  analyzers: Analyzers,
): Pick<IndexSpec, 'field' | 'vector' | 'text'> {
  const { column } = request
  const chain = findField(layout.schema, column)
  const { id: field } = chain.at(-1)!
  const type = typeOf(chain.at(-1)!)
  if (isVectorKind(kind)) {
    if (vectorType(type) === null) throw holdsNoVectors(column, kind, type)
    return { field, vector: vectorDefinition(kind, request, type, countRows(layout)) }
  }
  if (isTextKind(kind)) {
    if (!holdsText(type)) throw holdsNoText(column, type)
    const text = textDefinition(request)
    analyzers.open(text)
    return { field, text }
  }
  // A list of fixed size is a vector, not a list of labels.
  const fits = (each: ScalarKind) => type.kind !== 'fixed_size_list' && indexableBy(each, type)
  if (fits(kind)) return { field }
  throw invalidInput(`a ${kind} index does not support column ${quote(column)} of type ${typeName(type)}`, {
    hint: whatFits(type, (Object.keys(probesOfKind) as ScalarKind[]).filter(fits)),
  })
}

function whatFits(type: DataType, kinds: readonly ScalarKind[]): string {
  if (kinds.length > 0) return `use ${kinds.join(' or ')}`
  if (vectorType(type) !== null) return `use an index for vectors: ${vectorKinds.join(', ')}`
  return 'BTREE and BITMAP support values that have an order, LABEL_LIST supports lists of such values'
}

/** Return the path of a column. Like in LanceDB, only names with dots or backticks are quoted, in backticks. */
function pathOf({ schema }: Layout, column: string): string {
  return findField(schema, column)
    .map(({ name }) => (/[.`]/.test(name) ? inBackticks(name) : name))
    .join('.')
}

/**
 * Return the default name of an index, `{column}_idx`. A number is appended if an index of another column or of another
 * family has this name.
 */
function defaultName(column: string, kind: IndexKind, field: number, known: readonly Shown[]): string {
  const base = `${column}_idx`
  const isRelated = ({ spec }: Shown) => spec.field === field && familyOf(spec.kind) === familyOf(kind)
  const taken = new Set(known.flatMap(each => (isRelated(each) ? [] : [each.spec.name])))
  let name = base
  for (let n = 2; taken.has(name); n++) name = `${base}_${n}`
  checkIndexName(name, 'the name of the index')
  return name
}

function alreadyExists(head: TableHead, { schema }: Layout, { name, kind, field }: IndexSpec): SheafError {
  const chain = findFieldById(schema, field)
  const what = chain === null ? kind : `${kind} on ${quote(pathText(chain))}`
  return new SheafError(
    ErrorCode.IndexAlreadyExists,
    `table ${idText(head.id)} already has an index ${quote(name)}: ${what}`,
    { hint: 'replace the index (replace: true), or choose another name' },
  )
}

// ---- drop

/**
 * Drop an index. If its build is queued or running, the build is canceled. The record of a failed build is removed. The
 * operation creates a version in each case.
 */
export const dropTableIndex: Handler<Engine, 'dropTableIndex'> = async (engine, request, options) => {
  const { id, index_name: name } = request
  const find = tableFinder(id, options)
  const { reply } = await commitOnNewest<Layout, Reply<'dropTableIndex'>>(
    engine,
    {
      id,
      find,
      prepare: async open => open!.layout,
      decide(state, layout, { firstBlob, transactionId }) {
        const head = find(state)
        const { build } = findIndex(head, shownIndexes(layout, state), name)
        const change = indexChange(head, { drop: name }, firstBlob)
        const canceled = build === null ? [] : [endedOp(build.job, 'Canceled', 'its index was dropped')]
        return {
          ops: [change, ...canceled],
          req: requirementsOf(head),
          need: [indexesFeature],
          reply: { transaction_id: transactionId },
        }
      },
      outlives: keepsColumnsAndIndexes,
    },
    options,
  )
  return reply
}

// ---- shared

/**
 * Return a function that finds the table in a state. It throws if the rows of the table are not stored by Sheaf, or if
 * the table has no version.
 */
function tableFinder(id: readonly string[], options: HandlerOptions): (state: CatalogState) => TableHead {
  return state => {
    const head = findTable(state, id, options.table)
    checkRows(head)
    versionOf(head)
    return head
  }
}

/** Return whether a change left columns and indexes unchanged. */
function keepsColumnsAndIndexes(_: Layout, { change }: RecentChange): boolean {
  return change.schema === null && change.restore === undefined && change.indexes === undefined
}

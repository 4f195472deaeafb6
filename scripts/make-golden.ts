/**
 * Creates a golden root: a small directory with some records of the file format, and the expected result of reading it.
 * Run the script once when the format gets a new record. All later versions of Sheaf must be able to open the root
 * (test/golden.test.ts).
 *
 *     node dist/scripts/make-golden.js
 *     rows|catalog|edits|maintenance|checkpoints|adopted|uploads|sessions|lists|stretches|strides|tails|parts|bucket|beside|terms
 *     test/golden/<name>
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogMachine } from '../src/catalog/apply.js'
import { BlobLog } from '../src/commit/blob-log.js'
import { Checkpoints } from '../src/commit/checkpoints.js'
import { Committer } from '../src/commit/committer.js'
import type { Json } from '../src/commit/machine.js'
import type { Slot } from '../src/commit/slot.js'
import { connect, type Namespace, type Row, type Schema } from '../src/index.js'
import { History } from '../src/manifest/history.js'
import { systemClock } from '../src/primitives/clock.js'
import { manifestName } from '../src/protocol/manifest-name.js'
import type { BlobStore } from '../src/storage/blob-store.js'
import { FileStore } from '../src/storage/file-store.js'
import { describeRoot } from './describe-root.js'

const makers = {
  rows: makeRows,
  catalog: makeCatalog,
  edits: makeEdits,
  maintenance: makeMaintenance,
  checkpoints: makeCheckpoints,
  adopted: makeAdopted,
  uploads: makeUploads,
  sessions: makeSessions,
  lists: makeLists,
  stretches: makeStretches,
  strides: makeStrides,
  tails: makeTails,
  parts: makeParts,
  bucket: makeBucket,
  beside: makeBeside,
  terms: makeTerms,
}
const [, , what = '', folder] = process.argv
if (folder === undefined || !(what in makers)) {
  throw new Error(`usage: node dist/scripts/make-golden.js ${Object.keys(makers).join('|')} <folder>`)
}
const root = join(folder, 'root')

const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
    { name: 'name', type: { kind: 'utf8', large: false }, nullable: true, metadata: { note: 'a name' } },
    { name: 'at', type: { kind: 'timestamp', unit: 'us', timezone: 'UTC' }, nullable: true },
    {
      name: 'kind',
      type: {
        kind: 'dictionary',
        index: { kind: 'int', bits: 8, signed: true },
        value: { kind: 'utf8', large: false },
        ordered: false,
      },
      nullable: true,
    },
    {
      name: 'place',
      type: {
        kind: 'struct',
        children: [
          { name: 'lat', type: { kind: 'float', bits: 64 }, nullable: true },
          {
            name: 'labels',
            type: {
              kind: 'list',
              large: false,
              child: { name: 'item', type: { kind: 'utf8', large: false }, nullable: true },
            },
            nullable: true,
          },
        ],
      },
      nullable: true,
    },
    {
      name: 'vector',
      type: {
        kind: 'fixed_size_list',
        size: 16,
        child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
      },
      nullable: true,
    },
  ],
  metadata: { made: 'golden' },
}

function rows(from: number, count: number): Row[] {
  return Array.from({ length: count }, (_, i) => {
    const id = from + i
    return {
      id: BigInt(id),
      name: id % 5 === 0 ? null : `row ${id} – ünïcödé`,
      at: new Date(1_700_000_000_000 + id),
      kind: id % 4 === 0 ? null : ['a', 'b', 'c'][id % 3],
      place: id % 6 === 0 ? null : { lat: id / 8, labels: Array.from({ length: id % 3 }, (_, j) => `l${j}`) },
      vector: id % 7 === 0 ? null : Array.from({ length: 16 }, (_, j) => ((id * 31 + j * 17) % 64) / 4),
    }
  })
}

/**
 * Create a file with several stretches. One column ascends, so the file has min/max statistics of its stretches. The
 * other column does not ascend.
 */
async function makeStretches(ns: Namespace): Promise<void> {
  const two = Array.from({ length: 20_000 }, (_, i) => ({ id: 3 * i, mixed: (i * 7919) % 100 }))
  await ns.createTable('a', two)
}

/** Create scalar indexes of each kind with several pages of values. Some values are null. */
async function makeStrides(ns: Namespace): Promise<void> {
  const few = Array.from({ length: 8400 }, (_, i) => {
    return { key: i % 97 === 0 ? null : (i * 7919) % 8501, label: i % 101 === 0 ? null : `label ${i % 2000}` }
  })
  const table = await ns.createTable('a', few)
  await table.createIndex('key', { type: 'BTREE', waitTimeoutMs: 60_000 })
  await table.createIndex('label', { type: 'BTREE', waitTimeoutMs: 60_000 })
  await table.createIndex('key', { type: 'BITMAP', name: 'keys', waitTimeoutMs: 60_000 })
}

/** Create data files, inline blobs and schemas with everything that they can contain. */
async function makeRows(ns: Namespace): Promise<void> {
  await ns.createNamespace('kept', { properties: { owner: 'golden' } })
  await ns.createNamespace('kept$empty')
  await ns.createNamespace('gone')
  const stored = await ns.createTable('kept$stored', rows(0, 600), { schema, properties: { a: 'b' } })
  await stored.tags.create('first', 1)
  await stored.add(rows(600, 3))
  await stored.delete('id % 100 = 7 OR id = 601')
  await stored.tags.create('moved', 1)
  await stored.tags.update('moved', 3)
  const inline = await ns.createTable('inline', rows(0, 4), { schema })
  await inline.add(rows(50, 2), { mode: 'overwrite' })
  await ns.createTable('inline', [{ other: true }], { mode: 'overwrite' })
  await ns.createTable('gone$table', rows(0, 1), { schema })
  await ns.dropNamespace('gone', { behavior: 'cascade' })
  await ns.createTable('empty', [], { schema })
}

/**
 * Create row ids as runs in a slot and in a file, a deletion vector in a file, schemas of older blobs, and columns that
 * are added, dropped or get another type.
 */
async function makeEdits(ns: Namespace): Promise<void> {
  const table = await ns.createTable('edited', rows(0, 40), { schema })
  await table.update({ name: 'updated' }, 'id % 3 = 0')
  await table.add(rows(40, 2))
  await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows(41, 3))
  await table.addColumns({ half: 'id / 2', later: { type: { kind: 'utf8', large: false } } })
  await table.alterColumns({ half: { rename: 'quarter', type: { kind: 'float', bits: 32 } } })
  await table.dropColumns(['kind', 'place.lat'])
  await table.delete('id = 5')
  await table.restore(4)
  await ns.transaction(async tx => {
    await tx.table('edited').update({ name: null }, 'id < 3')
    await tx.table('edited').delete('id = 4')
    await tx.createTable('made', [{ a: 1 }])
  })
  const flags = Array.from({ length: 70_000 }, () => ({ flag: true }))
  const sparse = await ns.createTable('sparse', flags)
  await sparse.update({ flag: false }, '_rowid % 2 = 0')
}

/**
 * Create compacted fragments, ids that do not ascend, merged deletion vectors, a view, expired versions, a garbage
 * collection, slots in a pack, and merged history pages.
 */
async function makeMaintenance(ns: Namespace): Promise<void> {
  const moved = await ns.createTable('moved', rows(0, 60), { schema })
  await moved.tags.create('first', 1)
  await moved.add(rows(60, 2))
  await moved.tags.create('inline', 2)
  await moved.update({ name: 'updated' }, 'id % 9 = 1')
  await moved.delete('id = 3 OR id = 60')
  await ns.createView('seen', { source: 'moved', columns: { id: 'id', label: 'name' }, where: 'id > 10' })
  const folded = await ns.createTable(
    'folded',
    Array.from({ length: 9000 }, (_, id) => ({ id, text: `row ${id}` })),
  )
  for (let i = 0; i < 4; i++) await folded.delete(`id = ${i * 1000}`)
  for (let i = 0; i < 10; i++) {
    await ns.optimize()
    await moved.update({ name: `round ${i}` }, `id = ${i}`)
    await ns.createNamespace(`n${i}`)
  }
  await ns.optimize()
  await ns.table('seen').refresh()
  await moved.add(rows(70, 1))
}

/**
 * Create checkpoints that the log names, packs with creation slots, an index of each kind in its own file, a restored
 * table whose older records are gone, and the pin of a reader in another process.
 */
async function makeCheckpoints(ns: Namespace): Promise<void> {
  const indexed = await ns.createTable('indexed', rows(0, 300), { schema })
  await indexed.createIndex('id', { type: 'BTREE' })
  await indexed.createIndex('kind', { type: 'BITMAP' })
  await indexed.createIndex('vector', { type: 'IVF_FLAT', partitions: 2 })
  await indexed.createIndex('name', { type: 'FTS' })
  for (const name of ['id_idx', 'kind_idx', 'vector_idx', 'name_idx']) await indexed.waitForIndex(name)
  const restored = await ns.createTable('restored', [{ a: 1 }])
  await restored.tags.create('first', 1)
  await restored.add([{ a: 2 }])
  await restored.restore(1)
  for (let i = 0; i < 6; i++) {
    await ns.optimize()
    await restored.add([{ a: 10 + i }])
    await ns.createNamespace(`n${i}`)
  }
  await ns.optimize()
  await indexed.add(rows(300, 2))
  const store = await FileStore.open(root, { create: false, readOnly: false })
  const by = { boot: '0b5d7a52-6b5c-4b0e-9d8e-2c1f0a9b8c7d', space: 'pid:[1] time:[2]', pid: 3, start: '4' }
  const pin = '_pins/00000000-0000-4000-8000-000000000002-5'
  await store.put(pin, Buffer.from(JSON.stringify({ slot: ns.stats().log.slot, by })))
  await store.put(`${pin}.61000`, new Uint8Array())
}

/** Create every operation of the log, a checkpoint with a history page, and a stored manifest. */
async function makeCatalog(ns: Namespace): Promise<void> {
  const { operations } = ns
  await ns.createNamespace('n', { properties: { owner: 'golden' } })
  const long = await ns.createTable('long', [{ a: 0 }], { properties: { a: 'b' } })
  for (let i = 1; i < 66; i++) await long.add([{ a: i }])
  await long.restore(3)
  await operations.updateTableSchemaMetadata({ id: ['long'], metadata: { made: 'golden' } })
  await operations.batchDeleteTableVersions({ id: ['long'], ranges: [{ start_version: 5, end_version: 60 }] })
  await long.tags.create('old', 4, { idempotencyKey: 'before' })
  await ns.renameTable('long', 'n$renamed')
  await ns.createTable('away', [{ b: 1 }])
  const { location } = await operations.deregisterTable({ id: ['away'] })
  await operations.declareTable({ id: ['declared'], properties: { c: 'd' } })
  await operations.batchCommitTables({
    operations: [
      { declare_table: { id: ['n', 'pointer'] } },
      { create_table_version: { id: ['n', 'pointer'], version: 0, manifest_path: 's3://elsewhere/0' } },
      {
        create_table_version: {
          id: ['n', 'pointer'],
          version: 7,
          manifest_path: 's3://elsewhere/7',
          e_tag: 'seven',
          metadata: { score: '1' },
        },
      },
    ],
  })
  const lance = await operations.declareTable({ id: ['lance'] })
  const name = manifestName(1, 'V2')
  const staged = `${name}-00000000-0000-4000-8000-000000000001`
  mkdirSync(join(lance.location, '_versions'), { recursive: true })
  writeFileSync(join(lance.location, '_versions', staged), 'stands for a manifest LANC')
  const { transaction_id } = await operations.createTableVersion({
    id: ['lance'],
    version: 1,
    manifest_path: `${lance.location}/_versions/${staged}`,
  })
  const note = { setPropertyAction: { key: 'reviewed', value: 'yes' } }
  await operations.alterTransaction({ id: [transaction_id!], actions: [note] })
  await ns.dropTable((await ns.createTable('dropped', [{ c: 1 }])).id)
  await keepCheckpoint()
  await operations.registerTable({ id: ['back'], location })
  const next = { id: ['n', 'pointer'], version: 8, manifest_path: 's3://elsewhere/8' }
  // Do not use a call whose recorded reply contains a location, because the location is a path of this machine.
  await operations.createTableVersion(next, { idempotencyKey: 'after' })
}

/**
 * Create versions that a Lance engine wrote without the catalog: consecutive versions, a version after a gap, and a
 * version in place of one that the catalog committed in a batch.
 */
async function makeAdopted(ns: Namespace): Promise<void> {
  const { operations } = ns
  await ns.createTable('a', [{ a: 1 }])
  const adopted = await operations.declareTable({ id: ['adopted'] })
  for (const version of [1, 2, 4])
    putManifest(adopted.location, manifestName(version, 'V2'), `engine ${version}`)
  await operations.describeTableVersion({ id: ['adopted'], version: 4 })

  const raced = await operations.declareTable({ id: ['raced'] })
  const name = manifestName(1, 'V2')
  const staged = `${name}-00000000-0000-4000-8000-000000000001`
  putManifest(raced.location, staged, 'catalog 1')
  const store = await FileStore.open(root, { create: false, readOnly: false })
  const other = await connect(root, {
    store: engineAfterSlot(store, () => putManifest(raced.location, name, 'engine 1')),
  })
  const create_table_version = {
    id: ['raced'],
    version: 1,
    manifest_path: `${raced.location}/_versions/${staged}`,
  }
  // The call fails, because the engine has used the version number.
  await other.operations.batchCommitTables({ operations: [{ create_table_version }] }).catch(() => {})
  await other.close()
}

function putManifest(location: string, name: string, text: string): void {
  mkdirSync(join(location, '_versions'), { recursive: true })
  writeFileSync(join(location, '_versions', name), `stands for a manifest of ${text} LANC`)
}

/** Wrap `store`: call `act` immediately after the next slot is written. */
function engineAfterSlot(store: FileStore, act: () => void): FileStore {
  let isDone = false
  return new Proxy(store, {
    get(target, name) {
      const own = Reflect.get(target, name, target)
      if (typeof own !== 'function') return own
      if (name !== 'putIfAbsent') return own.bind(target)
      return async (key: string, bytes: Uint8Array) => {
        const outcome = await target.putIfAbsent(key, bytes)
        if (key.startsWith('_log/') && !isDone) act()
        isDone ||= key.startsWith('_log/')
        return outcome
      }
    },
  })
}

/** Create open, completed and aborted uploads before and after a checkpoint. */
async function makeUploads(ns: Namespace): Promise<void> {
  const table = await ns.createTable('a', rows(0, 3), { schema })
  const open = await table.upload({ mode: 'overwrite' })
  await open.add(rows(10, 2), { part: 'first' })
  await open.add(rows(20, 2), { part: 'first' })
  const completed = await table.upload()
  await completed.add(rows(30, 3), { part: 'x' })
  await completed.add(rows(40, 3), { part: 'y' })
  await completed.commit({ parts: ['y'] })
  const aborted = await table.upload()
  await aborted.add(rows(50, 1))
  await aborted.abort()
  await keepCheckpoint()
  const merge = await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().upload()
  await merge.add(rows(1, 4), { part: 'm' })
  await merge.commit()
  await open.add(rows(60, 1), { part: 'second' })
}

/** Create a read session of a version that is not the newest. Its tokens are stored next to the root. */
async function makeSessions(ns: Namespace): Promise<void> {
  const table = await ns.createTable('a', rows(0, 500), { schema })
  await table.delete('id % 10 = 3')
  const { slices } = await table.scan({ slices: 3, where: 'id > 100', select: ['id', 'name'] })
  const tokens = slices.map(({ token }) => token)
  writeFileSync(join(folder!, 'tokens.json'), `${JSON.stringify(tokens, null, 2)}\n`)
  await table.add(rows(500, 5), { mode: 'overwrite' })
}

/** Create indexes of each kind on a column of lists of vectors, and unindexed rows. */
async function makeLists(ns: Namespace): Promise<void> {
  const type = schema.fields.find(({ name }) => name === 'vector')!.type
  const own: Schema = {
    fields: [
      { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
      {
        name: 'parts',
        type: { kind: 'list', large: false, child: { name: 'item', type, nullable: true } },
        nullable: true,
      },
    ],
  }
  const vector = (at: number) => Array.from({ length: 16 }, (_, i) => Math.sin(at * (i + 1)))
  const listOf = (id: number) =>
    id % 9 === 4 ? null : Array.from({ length: id % 4 }, (_, i) => vector(id + 10 * i))
  const some = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ id: first + i, parts: listOf(first + i) }))
  for (const type of ['IVF_FLAT', 'IVF_HNSW_SQ'] as const) {
    const table = await ns.createTable(type, some(0, 120), { schema: own })
    await table.createIndex('parts', { type, partitions: 2, waitTimeoutMs: 60_000 })
    await table.add(some(120, 10))
    await table.delete('id % 25 = 3')
  }
  const query = [vector(5), vector(17)]
  const table = await ns.openTable('IVF_FLAT')
  const nearest = await table.search(query).bypassVectorIndex().limit(5).select(['id']).toArray()
  const ids = nearest.map(({ id }) => Number(id))
  writeFileSync(join(folder!, 'nearest.json'), `${JSON.stringify({ query, ids })}\n`)
}

/** Create a tail that another writer has ended, and a tail of a process that still appends. */
async function makeTails(ns: Namespace): Promise<void> {
  const table = await ns.createTable('a', rows(0, 2), { schema })
  for (let id = 2; id < 10; id++) await table.add(rows(id, 1))
  const other = await connect(root)
  await (await other.openTable('a')).add(rows(10, 1))
  await other.close()
  const isTail = (name: string) => name.endsWith('.tail')
  for (let id = 11; readdirSync(join(root, '_log')).filter(isTail).length < 2; id++)
    await table.add(rows(id, 1))
  await table.delete('id = 5')
}

/** Create checkpoints with parts, and stored manifests with differences. */
async function makeParts(ns: Namespace): Promise<void> {
  const table = await ns.createTable('a', [{ id: 0 }])
  for (let id = 1; id < 150; id++) await table.add([{ id }])
  const create = (from: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        ns.createNamespace(`n${from + i}`, { properties: { text: `${from + i} `.repeat(40) } }),
      ),
    )
  await create(0, 300)
  for (let i = 0; i < 3; i++) {
    await ns.optimize()
    await create(300 + 20 * i, 20)
    await table.delete(`id = ${i}`)
  }
}

/** Create a log whose trimmed slots are empty, and `_ckpt/newest`, as in object storage. */
async function makeBucket(ns: Namespace): Promise<void> {
  const table = await ns.createTable('a', rows(0, 20), { schema })
  for (let i = 0; i < 6; i++) {
    await ns.optimize()
    await table.update({ name: `round ${i}` }, `id = ${i}`)
  }
  await table.tags.create('kept', await table.version())
}

/** Create indexes that have the vectors of their rows beside their lists, as in object storage. One of them is extended. */
async function makeBeside(ns: Namespace): Promise<void> {
  const vectors = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => {
      const id = first + i
      const v = [Math.sin(id), Math.cos(id), id % 7, (id % 11) / 3, -(id % 5), id % 2, id % 3, 1]
      return { id, v: Float32Array.from(v) }
    })
  const nearest: Record<string, unknown> = {}
  const query = [0.5, 0.2, 3, 1, -2, 1, 0, 1]
  for (const kind of ['IVF_PQ', 'IVF_SQ', 'IVF_RQ'] as const) {
    const table = await ns.createTable(kind, vectors(0, 300))
    await table.createIndex('v', { type: kind, partitions: 3, waitTimeoutMs: 60_000 })
    if (kind === 'IVF_SQ') {
      await table.add(vectors(300, 300))
      await ns.optimize()
    }
    await table.delete('id % 10 = 3')
    nearest[kind] = await table.search(query).nprobes(3).refineFactor(5).limit(6).select(['id']).toArray()
  }
  writeFileSync(join(folder!, 'beside.json'), `${JSON.stringify({ query, nearest })}\n`)
}

/** Create a text index whose dictionary has pages, as in object storage. */
async function makeTerms(ns: Namespace): Promise<void> {
  const texts = Array.from({ length: 5000 }, (_, id) => {
    const own = createHash('sha256').update(String(id)).digest('hex').slice(0, 24)
    return { id, text: `${own} group${id % 40}` }
  })
  const table = await ns.createTable('a', texts)
  await table.createIndex('text', { type: 'FTS', withPosition: true, waitTimeoutMs: 60_000 })
  await table.delete('id % 10 = 3')
  const found: Record<string, unknown> = {}
  for (const words of ['group7', texts[77]!.text, `${texts[4000]!.text} group39`, 'absent'])
    found[words] = await table.search(words).limit(5).select(['id']).toArray()
  writeFileSync(join(folder!, 'terms.json'), `${JSON.stringify(found)}\n`)
}

/** Write a checkpoint, as maintenance does when the log is long enough. */
async function keepCheckpoint(): Promise<void> {
  const store = await FileStore.open(root, { create: false, readOnly: false })
  const history = new History(store)
  const options = {
    clock: systemClock,
    create: false,
    readOnly: true,
    onApplied: (slot: Slot) => history.note(slot),
  }
  const { fold } = await Committer.open(new BlobLog(store), catalogMachine, options)
  const pages = await history.writePage(fold.slot)
  const checkpoints = new Checkpoints(store, catalogMachine, systemClock)
  await checkpoints.write(fold, { pages } as unknown as Json)
}

// The work of maintenance depends on time. So only the roots for maintenance use ages of 0, with which it has work to
// do.
const isAged = what === 'maintenance' || what === 'checkpoints' || what === 'bucket'
const maintenance = isAged ? { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 } : { compact: false }
const ownStore = await FileStore.open(root, { create: true, readOnly: false })
// Roots without tails are small.
if (what !== 'tails' && what !== 'parts') delete (ownStore as { openInPlace?: unknown }).openInPlace
const replace: BlobStore['replace'] = async (key, bytes) => writeFileSync(join(root, key), bytes)
if (what === 'bucket' || what === 'beside' || what === 'terms') Object.assign(ownStore, { replace })
const ns = await connect(root, { store: ownStore, maintenance })
await makers[what as keyof typeof makers](ns)
writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(await describeRoot(ns), null, 1)}\n`)
await ns.close()

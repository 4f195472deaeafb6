/** What a namespace takes as rows, however it is reached: of every kind, lazily, and all of them or none. */
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tableFromIPC } from 'apache-arrow'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { concatChunks, encodeIpcFile, encodeIpcStream } from '../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { Namespace, Progress, Row, Schema, Table, TableData } from '../../src/index.js'
import type { Door, OpenedRoot } from '../support/transports.js'

const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
    { name: 'text', type: { kind: 'utf8', large: false }, nullable: true },
    {
      name: 'kind',
      type: {
        kind: 'dictionary',
        index: { kind: 'int', bits: 32, signed: true },
        value: { kind: 'utf8', large: false },
        ordered: false,
      },
      nullable: true,
    },
    {
      name: 'v',
      type: {
        kind: 'fixed_size_list',
        size: 2,
        child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
      },
      nullable: true,
    },
  ],
}

const rowOf = (id: number): Row => {
  return { id, text: id % 3 === 0 ? null : `text ${id}`, kind: `k${id % 5}`, v: [id, 1] }
}
const rowsOf = (count: number): Row[] => Array.from({ length: count }, (_, id) => rowOf(id))
const read = (row: Row) => ({ ...row, v: row.v === null ? null : Float32Array.from(row.v as number[]) })

/** Runs over one door; `open` gives a fresh, empty root. */
export function ingestSuite(door: Door): void {
  describe(`rows in, ${door.name}`, () => {
    let opened: OpenedRoot
    let ns: Namespace
    let table: Table
    beforeEach(async () => {
      opened = await door.open()
      ns = opened.ns
      table = await ns.createTable('t', [], { schema })
    })
    afterEach(() => opened.close())

    const failure = (call: Promise<unknown>) =>
      call.then(
        () => expect.fail('the call succeeded'),
        error => error,
      )

    /** A source that tells how much of it was taken, and whether it was closed. */
    function watched<T>(items: Iterable<T>) {
      const seen = { taken: 0, closed: false }
      const iterator = items[Symbol.iterator]()
      const source: AsyncIterable<T> = {
        [Symbol.asyncIterator]: () => ({
          async next() {
            seen.taken++
            return iterator.next()
          },
          async return() {
            seen.closed = true
            return { done: true, value: undefined }
          },
        }),
      }
      return { source, seen }
    }

    function* endless<T>(item: (index: number) => T): Generator<T> {
      for (let i = 0; ; i++) yield item(i)
    }

    async function unchanged(): Promise<void> {
      expect(await table.version()).toBe(1)
      expect(await table.countRows()).toBe(0)
    }

    describe('of every kind', () => {
      const rows = rowsOf(2500)
      const batches = [0, 1000, 1900].map((from, i) =>
        rowsToBatch(rows.slice(from, [1000, 1900, 2500][i]), schema),
      )
      const file = concatChunks(encodeIpcFile(schema, batches))
      const stream = concatChunks(encodeIpcStream(schema, batches))
      const arrow = tableFromIPC(file)
      const tables = batches.map(batch => tableFromIPC(concatChunks(encodeIpcFile(schema, [batch]))))
      const cut = (bytes: Uint8Array, size: number) => {
        return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.slice(i * size, (i + 1) * size),
        )
      }
      async function* slowly<T>(items: Iterable<T>): AsyncGenerator<T> {
        for (const item of items) yield item
      }
      const chunks = [rows.slice(0, 3), [], rows.slice(3, 2000), rows.slice(2000)]
      const kinds: Readonly<Record<string, () => TableData>> = {
        'an array of objects': () => rows,
        'an iterable of objects': () => new Set(rows),
        'an async iterable of objects': () => slowly(rows),
        'an iterable of arrays': () => chunks.values(),
        'an array of arrays': () => chunks,
        'an async iterable of arrays': () => slowly(chunks),
        'an Arrow table': () => arrow,
        'record batches': () => arrow.batches,
        'an async iterable of record batches': () => slowly(arrow.batches),
        'an iterable of tables': () => tables.values(),
        'the bytes of a file': () => file,
        'the bytes of a stream': () => stream,
        'a file in chunks': () => slowly(cut(file, 1000)),
        'a stream in chunks': () => cut(stream, 777),
        'a stream of the web': () =>
          new ReadableStream<Uint8Array>({
            start(controller) {
              for (const chunk of cut(stream, 4000)) controller.enqueue(chunk)
              controller.close()
            },
          }),
      }

      test.each(Object.entries(kinds))('%s', async (_, make) => {
        expect(await table.add(make())).toMatchObject({ rows: 2500, version: 2 })
        expect(await table.query().toArray()).toEqual(rows.map(read))
        const created = await ns.createTable('u', make(), { schema })
        expect(await created.schema()).toEqual(schema)
        expect(await created.query().toArray()).toEqual(rows.map(read))
      })

      test('a file from the disk', async () => {
        const folder = mkdtempSync(join(tmpdir(), 'sheaf-ingest-'))
        try {
          const plain: Schema = { fields: schema.fields.filter(({ name }) => name !== 'kind') }
          const withoutKinds = batches.map(({ columns, length }) => {
            return {
              schema: plain,
              length,
              columns: columns.filter((_, i) => schema.fields[i]!.name !== 'kind'),
            }
          })
          const path = join(folder, 'rows.arrow')
          writeFileSync(path, concatChunks(encodeIpcFile(plain, withoutKinds)))
          const made = await ns.createTable('u', createReadStream(path, { highWaterMark: 1500 }))
          expect(await made.schema()).toEqual(plain)
          expect(await made.query().toArray()).toEqual(rows.map(({ kind: _, ...row }) => read(row)))
          await table.add(createReadStream(path))
          expect(await table.countRows('kind IS NULL')).toBe(2500)
        } finally {
          rmSync(folder, { recursive: true, force: true })
        }
      })

      test('empty input has no rows', async () => {
        for (const nothing of [[], new Set<Row>(), slowly<Row>([]), [[]] as Row[][]]) {
          expect(await table.add(nothing)).toMatchObject({ rows: 0 })
        }
      })

      test('two kinds at once are refused', async () => {
        const mixtures: readonly [Iterable<unknown>, RegExp][] = [
          [[rowOf(0), [rowOf(1)]].values(), /^item 1 .*is an array.*plain object/],
          [[[rowOf(0)], rowOf(1)], /^item 1 .*is a plain object.*an array/],
          [[tables[0], rowOf(1)], /^item 1 .*is a plain object.*Arrow/],
          [[rowOf(0), tables[0]].values(), /^item 1 .*is an Arrow table.*plain object/],
          [[...cut(stream, 500), 'x'], /^item \d+ .*is "x".*bytes/],
          [[rowOf(0), 7].values(), /^item 1 .*is 7/],
          [[[rowOf(0)], [rowOf(1), 7]], /^row 2 is not an object/],
          [[7].values(), /^row 0 is not an object/],
        ]
        for (const [items, words] of mixtures) {
          expect(await failure(table.add(items as Iterable<object>))).toMatchObject({
            code: 13,
            message: expect.stringMatching(words),
          })
        }
        const other = tableFromIPC(concatChunks(encodeIpcFile({ fields: [] }, [])))
        expect(await failure(table.add([tables[0]!, other]))).toMatchObject({ code: 20 })
        await unchanged()
      })

      test('a broken file is refused, whatever precedes the fault', async () => {
        const plain = [rowsToBatch([{ id: 1n }]), rowsToBatch([{ id: 2n }])]
        const whole = concatChunks(encodeIpcFile(plain[0]!.schema, plain))
        for (const bytes of [whole.slice(0, -1), whole.slice(0, -12), whole.slice(0, 400)]) {
          expect(await failure(table.add(cut(bytes, 100)))).toMatchObject({ code: 13 })
        }
        await unchanged()
        await table.add(cut(whole, 100))
        expect(await table.countRows()).toBe(2)
      })
    })

    describe('lazily', () => {
      test('an endless source is read only up to a row that does not fit', async () => {
        const { source, seen } = watched(endless(i => ({ id: i === 80_000 ? 'x' : i })))
        expect(await failure(table.add(source))).toMatchObject({
          code: 20,
          message: expect.stringMatching(/^row 80000: column "id" is int64, got "x"$/),
        })
        expect(seen.closed).toBe(true)
        expect(seen.taken).toBeLessThan(90_000)
        await unchanged()
      })

      test('an error of the source is the error of the call, and nothing is committed', async () => {
        const reason = new TypeError('the file was gone')
        function* failing() {
          for (let i = 0; i < 20_000; i++) yield rowOf(i)
          throw reason
        }
        expect(await failure(table.add(failing()))).toBe(reason)
        expect(await failure(ns.createTable('u', failing(), { schema }))).toBe(reason)
        await unchanged()
        expect(await ns.tableNames()).toEqual(['t'])
      })

      test('a source that never yields ends with the signal, and its iterator is closed', async () => {
        const controller = new AbortController()
        const reason = new Error('enough')
        let closed = false
        let asked!: () => void
        const asking = new Promise<void>(resolve => {
          asked = resolve
        })
        const hanging: AsyncIterable<Row> = {
          [Symbol.asyncIterator]: () => ({
            next() {
              asked()
              return new Promise(() => {})
            },
            async return() {
              closed = true
              return { done: true, value: undefined }
            },
          }),
        }
        const call = failure(table.add(hanging, { signal: controller.signal }))
        await asking
        controller.abort(reason)
        expect(await call).toBe(reason)
        expect(closed).toBe(true)
        await unchanged()
      })

      test('a long source is aborted between two rows', async () => {
        const controller = new AbortController()
        const { source, seen } = watched(
          endless(i => {
            if (i === 30_000) controller.abort(new Error('enough'))
            return rowOf(i)
          }),
        )
        expect(await failure(table.add(source, { signal: controller.signal }))).toBe(controller.signal.reason)
        expect(seen.closed).toBe(true)
        await unchanged()
      })

      test('an unread source is closed too', async () => {
        const { source, seen } = watched(endless(rowOf))
        const refused = ns.createTable('t', source, { schema })
        expect(await failure(refused)).toMatchObject({ code: 5 })
        expect(seen.closed).toBe(true)
        const again = watched(endless(rowOf))
        await ns.createTable('t', again.source, { schema, mode: 'exist_ok' })
        expect(again.seen.closed).toBe(true)
        const gone = watched(endless(rowOf))
        await ns.dropTable('t')
        expect(await failure(table.add(gone.source))).toMatchObject({ code: 4 })
        expect(gone.seen.closed).toBe(true)
      })
    })

    describe('types', () => {
      test('of a short source are inferred over all its rows, as for an array', async () => {
        const rows = [...rowsOf(3000).map(({ id, v }) => ({ id, v })), { id: 3000, later: 1n }]
        const fromArray = await ns.createTable('a', rows)
        const fromIterable = await ns.createTable('b', rows.values())
        expect(await fromIterable.schema()).toEqual(await fromArray.schema())
        expect(await fromIterable.query().toArray()).toEqual(await fromArray.query().toArray())
      })

      test('of a longer source are inferred from its first rows, and later rows must fit', async () => {
        const later = (row: Row) => {
          return ns.createTable(
            'u',
            endless(i => (i === 70_000 ? row : { id: i, none: null })),
          )
        }
        const refused = async (row: Row, message: RegExp) => {
          expect(await failure(later(row))).toMatchObject({
            code: 20,
            message: expect.stringMatching(message),
            hint: expect.stringMatching(/first 65536 rows; pass a schema/),
          })
        }
        await refused({ id: 'x' }, /^row 70000: column "id" is float64, got "x"$/)
        await refused({ id: 1, extra: 1 }, /^row 70000 has the unknown key "extra"$/)
        await refused({ id: 1, none: 1 }, /^row 70000: column "none" is null, got 1$/)
        expect(await ns.tableNames()).toEqual(['t'])
      })

      test('of big rows are inferred from the first 32 MiB', async () => {
        const text = 'x'.repeat(1 << 20)
        const rows = endless(i => (i === 100 ? { text: 7 } : { text }))
        const error = await failure(ns.createTable('u', rows))
        expect(error).toMatchObject({ code: 20, message: expect.stringMatching(/^row 100: /) })
        expect(Number(/first (\d+) rows/.exec(error.hint)![1])).toBeLessThan(40)
      })
    })

    describe('progress', () => {
      test('reports the rows and bytes read so far', async () => {
        const told: Progress[] = []
        await table.add(rowsOf(5000).values(), { onProgress: progress => told.push(progress) })
        expect(told.length).toBeGreaterThan(3)
        expect(told.length).toBeLessThan(10)
        expect(told.at(-1)!.rows).toBe(5000)
        expect(told.at(-1)!.bytes).toBeGreaterThan(5000 * (8 + 8))
        for (const [i, { rows, bytes }] of told.slice(1).entries()) {
          expect(rows).toBeGreaterThan(told[i]!.rows)
          expect(bytes).toBeGreaterThan(told[i]!.bytes)
        }
      })

      test('may end the call', async () => {
        const reason = new Error('not so many')
        const onProgress = ({ rows }: Progress) => {
          if (rows > 20_000) throw reason
        }
        const { source, seen } = watched(endless(rowOf))
        expect(await failure(table.add(source, { onProgress }))).toBe(reason)
        expect(seen.closed).toBe(true)
        expect(await failure(ns.createTable('u', endless(rowOf), { schema, onProgress }))).toBe(reason)
        await unchanged()
        expect(await failure(table.add([], { onProgress: 7 as never }))).toMatchObject({ code: 13 })
      })
    })

    describe('bad vectors', () => {
      const bad: readonly Row[] = [
        { id: 0, v: [1, 2] },
        { id: 1, v: [1, Number.NaN] },
        { id: 2, v: [1, 2, 3] },
        { id: 3, v: null },
        { id: 4, v: [null, 1] },
        { id: 5, v: [Number.NEGATIVE_INFINITY, 1] },
        { id: 6, v: Float32Array.of(3, 4) },
        { id: 7, v: [] },
        { id: 8, v: [1e39, 0] },
      ]
      const good = [0, 3, 6]
      const ids = async (of: Table, filter?: string) => {
        const search = of.query().select(['id'])
        return (await (filter === undefined ? search : search.where(filter)).toArray()).map(({ id }) => id)
      }

      test('of plain objects become null, or their rows are left out', async () => {
        expect(await failure(table.add(bad))).toMatchObject({ code: 20 })
        await unchanged()
        await table.add(bad, { badVectors: 'null' })
        expect(await ids(table)).toEqual(bad.map(({ id }) => id))
        expect(await ids(table, 'v IS NOT NULL')).toEqual([0, 6])
        expect(await table.add(bad.values(), { badVectors: 'skip', mode: 'overwrite' })).toMatchObject({
          rows: 3,
        })
        expect(await ids(table)).toEqual(good)
        expect(await failure(table.add(bad, { badVectors: 'Skip' as never }))).toMatchObject({ code: 13 })
      })

      test('the same for Arrow data', async () => {
        const fits = bad.filter(({ id }) => ![2, 7, 8].includes(id as number))
        const bytes = concatChunks(encodeIpcStream(schema, [rowsToBatch(fits, schema)]))
        expect(await failure(table.add(bytes))).toMatchObject({ code: 20 })
        await unchanged()
        await table.add(bytes, { badVectors: 'null' })
        expect(await ids(table, 'v IS NULL')).toEqual([1, 3, 4, 5])
        for (const data of [bytes, tableFromIPC(bytes), [bytes.slice(0, 100), bytes.slice(100)]]) {
          await table.add(data, { badVectors: 'skip', mode: 'overwrite' })
          expect(await ids(table)).toEqual(good)
        }
      })

      test('are refused if they would be null and may not be', async () => {
        const fields = schema.fields.map(field => ({ ...field, nullable: field.name !== 'v' }))
        const strict = await ns.createTable('u', [], { schema: { fields } })
        const refused = {
          code: 20,
          message: expect.stringMatching(/row 1/),
          hint: expect.stringMatching(/skip/),
        }
        expect(await failure(strict.add(bad, { badVectors: 'null' }))).toMatchObject(refused)
        const bytes = concatChunks(encodeIpcStream(schema, [rowsToBatch(bad.slice(0, 2), schema)]))
        expect(await failure(strict.add(bytes, { badVectors: 'null' }))).toMatchObject(refused)
        expect(await strict.add(bytes, { badVectors: 'skip' })).toMatchObject({ rows: 1 })
      })

      test('without a schema, the most frequent length is that of the column', async () => {
        const made = await ns.createTable(
          'u',
          bad.map(row => ({ ...row })),
          { badVectors: 'null', vectorColumns: ['v'] },
        )
        expect((await made.schema()).fields[1]!.type).toMatchObject({ kind: 'fixed_size_list', size: 2 })
        expect(await ids(made, 'v IS NOT NULL')).toEqual([0, 6])
        const lengths = [3, 2, 3, 2, 4].map((length, id) => ({ id, v: new Array(length).fill(id) }))
        const options = { badVectors: 'skip', vectorColumns: ['v'] } as const
        expect(await failure(ns.createTable('w', lengths.values(), options))).toMatchObject({
          code: 13,
          message: expect.stringMatching(/^column "v" has 2 vectors of length 2 and/),
        })
        const all = await ns.createTable('x', [{ vector: [Number.NaN, 1] }], { badVectors: 'skip' })
        expect((await all.schema()).fields[0]!.type).toMatchObject({ kind: 'fixed_size_list', size: 2 })
        expect(await all.countRows()).toBe(0)
      })

      test('omitted rows keep the numbers of the other rows', async () => {
        const rows = [
          { id: 0, v: [Number.NaN, 1] },
          { id: 'x', v: [1, 2] },
        ]
        expect(await failure(table.add(rows, { badVectors: 'skip' }))).toMatchObject({
          message: expect.stringMatching(/^row 1: column "id"/),
        })
      })
    })

    test('rows in any batches are the same rows', async () => {
      const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 12 })
      let run = 0
      await fc.assert(
        fc.asyncProperty(cuts, async sizes => {
          let id = 0
          const chunks = sizes.map(size => Array.from({ length: size }, () => rowOf(id++)))
          const name = `cut_${run++}`
          const made = await ns.createTable(name, chunks.values(), { schema })
          expect(await made.query().toArray()).toEqual(rowsOf(id).map(read))
        }),
        { numRuns: 8 },
      )
    })
  })
}

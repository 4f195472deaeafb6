/** Rows that are looked up are those that a scan gives, however they lie and however little memory there is. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Row, type Schema } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { WrappedStore } from '../support/stores.js'

const schema: Schema = {
  fields: [
    { name: 'key', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
    { name: 'text', type: { kind: 'utf8', large: false }, nullable: true },
    {
      name: 'word',
      type: {
        kind: 'dictionary',
        index: { kind: 'int', bits: 16, signed: true },
        value: { kind: 'utf8', large: false },
        ordered: false,
      },
      nullable: true,
    },
    {
      name: 'tags',
      type: {
        kind: 'list',
        large: false,
        child: { name: 'item', type: { kind: 'utf8', large: false }, nullable: true },
      },
      nullable: true,
    },
    {
      name: 'place',
      type: {
        kind: 'struct',
        children: [
          { name: 'lat', type: { kind: 'float', bits: 64 }, nullable: true },
          { name: 'on', type: { kind: 'bool' }, nullable: true },
        ],
      },
      nullable: true,
    },
    {
      name: 'v',
      type: {
        kind: 'fixed_size_list',
        size: 16,
        child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
      },
      nullable: true,
    },
  ],
}

const rowOf = (key: number): Row => ({
  key,
  text: key % 11 === 0 ? null : `text ${key} `.repeat(key % 4),
  word: key % 13 === 0 ? null : `w${key % 40}`,
  tags:
    key % 5 === 0 ? null : Array.from({ length: key % 3 }, (_, i) => (key % 7 === 0 ? null : `${key}.${i}`)),
  place: key % 9 === 0 ? null : { lat: key % 8 === 0 ? null : key / 7, on: key % 2 === 0 },
  v: key % 17 === 0 ? null : Array.from({ length: 16 }, (_, i) => ((key * 7 + i * 13) % 101) / 3),
})

/** Every read is one that is waited for. */
class DistantStore extends WrappedStore {
  constructor(inner: MemoryStore) {
    super(inner)
    delete this.peek
  }
  protected async around<T>(_call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
    await null
    return run()
  }
}

const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), rows: fc.constantFrom(20, 2500, 6000) }),
  fc.record({ do: fc.constant('delete' as const), by: fc.integer({ min: 2, max: 9 }) }),
  fc.record({ do: fc.constant('update' as const), by: fc.integer({ min: 30, max: 900 }) }),
  fc.record({ do: fc.constant('column' as const) }),
  fc.record({ do: fc.constant('compact' as const) }),
)

test('rows by number are those of a scan, over all changes, under any budget', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(0, 6000, 60_000, 400_000, 1 << 28),
      fc.boolean(),
      fc.array(fc.nat(), { minLength: 1, maxLength: 30 }),
      async (steps, cacheBytes, isDistant, numbers) => {
        const memory = new MemoryStore()
        const ns = await connect('by-number', { store: memory })
        const table = await ns.createTable(
          't',
          Array.from({ length: 3000 }, (_, i) => rowOf(i)),
          { schema },
        )
        let next = 3000
        for (const [i, each] of steps.entries()) {
          if (each.do === 'add') {
            await table.add(Array.from({ length: each.rows }, (_, n) => rowOf(next + n)))
            next += each.rows
          } else if (each.do === 'delete') await table.delete(`key % ${each.by} = 1`)
          else if (each.do === 'update') await table.update({ text: `again ${i}` }, `key % ${each.by} = 0`)
          else if (each.do === 'column') await table.addColumns({ [`more${i}`]: 'key * 2' })
          else await ns.optimize()
        }
        await table.createIndex('key', { type: 'BTREE' })
        await table.waitForIndex('key_idx')
        await ns.close()

        const store = isDistant ? new DistantStore(memory) : memory
        const own = await connect('by-number', { store, cacheBytes })
        const found = await own.openTable('t')
        const all = await found.query().withRowId().toArray()
        const picked = all.length === 0 ? [] : numbers.map(n => n % all.length)
        const wanted = picked.map(at => all[at]!)
        expect(await found.takeOffsets(picked).withRowId().toArray()).toEqual(wanted)
        expect(
          await found
            .takeRowIds(wanted.map(row => row._rowid as number))
            .withRowId()
            .toArray(),
        ).toEqual(wanted)
        for (const row of wanted.slice(0, 5)) {
          expect(await found.query().where(`key = ${row.key}`).withRowId().toArray()).toEqual([row])
        }
        const keys = wanted.map(row => row.key as number)
        const near = await found
          .search(Array.from({ length: 16 }, (_, i) => i))
          .where(`key IN (${[-1, ...keys].join(', ')})`)
          .select(['key', '_distance'])
          .limit(100)
          .toArray()
        const distances = new Map(
          wanted
            .filter(row => row.v !== null)
            .map(row => [
              row.key,
              (row.v as unknown as number[]).reduce((sum, x, i) => sum + (x - i) ** 2, 0),
            ]),
        )
        expect(new Set(near.map(row => row.key))).toEqual(new Set(distances.keys()))
        for (const row of near) expect(row._distance).toBeCloseTo(distances.get(row.key)!, 0)
        await own.close()
      },
    ),
    { numRuns: 25 },
  ))

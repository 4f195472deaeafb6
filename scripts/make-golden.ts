/**
 * Makes a golden root: a small directory of every record the format has, and what it must read as. Run once per
 * format: `node dist/scripts/make-golden.js test/golden/<name>`. Every later version must open it (test/golden.test.ts).
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type Row, type Schema } from '../src/index.js'
import { describeRoot } from './describe-root.js'

const folder = process.argv[2]
if (folder === undefined) throw new Error('usage: node dist/scripts/make-golden.js <folder>')
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

const ns = await connect(root)
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
writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(await describeRoot(ns), null, 1)}\n`)
await ns.close()

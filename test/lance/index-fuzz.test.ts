/** Damaged files of an index of LanceDB end in a typed error or in a search that measures rows of the table. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { SheafError } from '../../src/errors.js'
import { connect } from '../../src/index.js'
import { lanceLists, leftOut } from '../../src/indexes/vector/lance-lists.js'
import { openLanceFile } from '../../src/lance/file.js'
import { IvfPq } from '../../src/lance/ivf-pq.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { randomFrom } from '../support/clock.js'
import { CountedBytes } from '../support/lance-files.js'
import { temporaryRoots } from '../support/roots.js'

const golden = join(import.meta.dirname, '../golden/lance-indexes')
const freshFolder = temporaryRoots()
const seed = Number(process.env.SHEAF_SEED ?? 1)
const isLong = process.env.SHEAF_SEED !== undefined
const rows = 400
const dimension = 16

function folderOf(root: string, table: string): string {
  const indexes = join(root, `${table}.lance/_indices`)
  return join(indexes, readdirSync(indexes)[0]!)
}

const names = ['index.idx', 'auxiliary.idx']
const tables = ['l2', 'cosine']
const files = new Map(
  tables.map(table => [
    table,
    names.map(name => new Uint8Array(readFileSync(join(folderOf(golden, table), name)))),
  ]),
)

type Random = () => number

/** Change some bytes. Most changes are near the end, where the metadata is. */
function damaged(bytes: Uint8Array, random: Random): Uint8Array {
  const below = (limit: number) => Math.floor(random() * limit)
  const out = bytes.slice()
  for (let i = below(3); i >= 0; i--) {
    const at = below(3) === 0 ? below(out.length) : out.length - 1 - below(Math.min(out.length, 1500))
    if (below(2) === 0) out[at]! ^= 1 << below(8)
    else out[at] = [0, 1, 2, 127, 128, 255][below(6)]!
  }
  return out
}

test('a damaged file ends in an error of Sheaf or in a segment', {
  timeout: isLong ? 900_000 : 60_000,
}, async () => {
  const ends = { segments: 0, errors: 0 }
  for (let run = 0; run < (isLong ? 20_000 : 600); run++) {
    const random = randomFrom(seed * 1_000_003 + run)
    const bytes: Uint8Array[] = [...files.get(tables[run % 2]!)!]
    const which = run % 3 === 0 ? 0 : 1
    bytes[which] = damaged(bytes[which]!, random)
    const place = `run ${run}, seed ${seed}`
    try {
      const [index, auxiliary] = await Promise.all(
        names.map((name, i) => openLanceFile(new CountedBytes(bytes[i]!), name)),
      )
      const opened = await IvfPq.open(index!, auxiliary!)
      const ids = await opened.readIds(0, auxiliary!.rows)
      const seen = new Set<number>()
      const ordinals = Uint32Array.from(ids, id => {
        const ordinal = Number(id & 0xffff_ffffn)
        if (ordinal >= rows || seen.has(ordinal)) return leftOut
        seen.add(ordinal)
        return ordinal
      })
      const segment = await lanceLists(opened, { rows, ordinals }, new Pacer())
      const query = Float32Array.from({ length: opened.plan.dim }, (_, i) => Math.sin(run + i))
      const passing = segment.facts.vectors
      const effort = { leastPartitions: 2 }
      const probe = { query, k: 10, count: 20, allowed: null, passing, effort }
      const found = (await segment.candidates(probe, new Pacer())).ordinals
      expect(new Set(found).size, place).toBe(found.length)
      expect(
        [...found].every(ordinal => seen.has(ordinal)),
        place,
      ).toBe(true)
      ends.segments++
    } catch (error) {
      if (!(error instanceof SheafError) || error.message.includes('invariant'))
        throw new Error(place, { cause: error })
      ends.errors++
    }
  }
  expect(Math.min(ends.segments, ends.errors)).toBeGreaterThan(100)
})

test('each row of an answer has its distance, whatever the index says', {
  timeout: isLong ? 900_000 : 60_000,
}, async () => {
  const ns = await connect(`lance+${pathToFileURL(golden)}`, { onWarning: () => {} })
  const known = await (await ns.openTable('l2')).query().toArray()
  const vectors = new Map(known.map(({ id, vector }) => [id, vector as ArrayLike<number> | null]))
  await ns.close()
  const folder = freshFolder()
  cpSync(golden, folder, { recursive: true })
  for (let run = 0; run < (isLong ? 300 : 16); run++) {
    const random = randomFrom(seed * 7919 + run)
    for (const [i, name] of names.entries()) {
      const bytes = files.get('l2')![i]!
      writeFileSync(join(folderOf(folder, 'l2'), name), run % 2 === i ? damaged(bytes, random) : bytes)
    }
    const damagedNs = await connect(`lance+${pathToFileURL(folder)}`, { onWarning: () => {} })
    const query = Array.from({ length: dimension }, (_, i) => Math.cos(run + i))
    const table = await damagedNs.openTable('l2')
    const near = await table.search(query).distanceType('l2').nprobes(2).refineFactor(3).limit(10).toArray()
    const ids = near.map(({ id }) => id)
    expect(new Set(ids).size, `run ${run}, seed ${seed}`).toBe(10)
    for (const { id, _distance } of near) {
      const vector = vectors.get(id)!
      const squares = query.reduce((sum, value, i) => sum + (value - vector[i]!) ** 2, 0)
      expect(_distance, `run ${run}, seed ${seed}`).toBeCloseTo(squares, 3)
    }
    await damagedNs.close()
  }
})

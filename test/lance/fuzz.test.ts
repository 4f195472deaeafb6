/** Damaged files end in a typed error or in values, soon and with little memory. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { columnBytes } from '../../src/arrow/layout.js'
import { columnValues } from '../../src/arrow/values.js'
import { SheafError } from '../../src/errors.js'
import { openLanceFile } from '../../src/lance/file.js'
import { damagedFiles, ReadTimes } from '../support/damaged-files.js'
import { CountedBytes, readColumns } from '../support/lance-files.js'

const folder = join(import.meta.dirname, '../golden/lance')
const files = readdirSync(folder)
  .sort()
  .map(name => ({ name, bytes: new Uint8Array(readFileSync(join(folder, name))) }))

const seed = Number(process.env.SHEAF_SEED ?? 1)

/** Return a function that returns random integers below a limit (mulberry32). */
function randomOf(start: number): (limit: number) => number {
  let state = start
  return limit => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % limit
  }
}

const interesting = [0, 1, 2, 7, 8, 0x7f, 0x80, 0xfe, 0xff]

/** Change some bytes of a file. Half of the changes are in its metadata, which is at its end. */
function damage(bytes: Uint8Array, random: (limit: number) => number): Uint8Array {
  const out = bytes.slice()
  const changes = 1 + random(4)
  for (let i = 0; i < changes; i++) {
    const tail = Math.min(out.length, 6000)
    const at = random(2) === 0 ? random(out.length) : out.length - 1 - random(tail)
    const kind = random(4)
    if (kind === 0) out[at]! ^= 1 << random(8)
    else if (kind === 1) out[at] = interesting[random(interesting.length)]!
    else if (kind === 2) out[at] = random(256)
    else out.copyWithin(at, random(out.length), random(out.length))
  }
  return out
}

/** Maximum bytes of columns per byte of the file, and of any file. */
const maxRatio = 2000
const maxBytes = 64 * 1024 * 1024

test(`${damagedFiles} damaged files end in an error of Sheaf or in values`, {
  timeout: 60_000 + 30 * damagedFiles,
}, async () => {
  let read = 0
  const times = new ReadTimes()
  for (let run = 0; run < damagedFiles; run++) {
    const random = randomOf(seed * 1_000_003 + run)
    const { name, bytes } = files[random(files.length)]!
    const damaged = damage(bytes, random)
    try {
      const size = await times.measure(`run ${run} of ${name} (seed ${seed})`, async () => {
        const file = await openLanceFile(new CountedBytes(damaged), name)
        const columns = await readColumns(file, 0, Math.min(file.rows, 3000))
        for (const column of columns) if (column.length < 3000) columnValues(column, { int64: 'bigint' })
        return columns.reduce((sum, column) => sum + columnBytes(column), 0)
      })
      expect(size).toBeLessThan(Math.max(maxBytes, damaged.length * maxRatio))
      read++
    } catch (error) {
      if (!(error instanceof SheafError))
        throw new Error(`run ${run} of ${name} (seed ${seed})`, { cause: error })
      if (error.message.includes('invariant'))
        throw new Error(`run ${run} of ${name} (seed ${seed})`, { cause: error })
    }
  }
  times.print('Lance')
  expect(read).toBeGreaterThan(0)
})

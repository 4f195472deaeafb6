/** Manifests of Lance tables. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SheafError } from '../../src/errors.js'
import { decodeDeletions } from '../../src/lance/deletion-file.js'
import { readManifest } from '../../src/lance/manifest.js'

const table = join(import.meta.dirname, '../golden/lance-tables/stable.lance')
const names = readdirSync(join(table, '_versions')).filter(name => name.endsWith('.manifest'))
const newest = new Uint8Array(readFileSync(join(table, '_versions', names.sort()[0]!)))

describe('a manifest', () => {
  test('has a schema, fragments and the facts of the version', () => {
    const { version, schema, fragments, branch, fileVersion } = readManifest(newest, 'x.manifest')
    expect({ version, branch, fileVersion }).toEqual({ version: 6, branch: null, fileVersion: '2.2' })
    expect(schema.fields.map(({ name }) => name)).toEqual(['id', 'words', 's', 'vector', 'twice'])
    expect(fragments.map(({ rows }) => rows)).toEqual([40, 10, 1])
    expect(fragments[0]!.deletions).toMatchObject({ kind: 'arrow', rows: 11 })
    expect(fragments.every(({ rowIds }) => rowIds !== null)).toBe(true)
  })

  test('that needs an unknown feature is refused', () => {
    // Field 9 of the message, the features that readers must know, has the value 3.
    const at = newest.findIndex((byte, i) => byte === 0x48 && newest[i + 1] === 3 && newest[i + 2] === 0x50)
    expect(at).toBeGreaterThan(0)
    const changed = newest.slice()
    changed[at + 1] = 0x43
    expect(() => readManifest(changed, 'x.manifest')).toThrow('features 64')
  })

  test('that is damaged is refused with a typed error, or read', () => {
    fc.assert(
      fc.property(
        fc.nat(newest.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.boolean(),
        (at, mask, cuts) => {
          const changed = cuts ? newest.slice(at) : newest.slice()
          changed[cuts ? 0 : at]! ^= mask
          try {
            readManifest(changed, 'x.manifest')
          } catch (error) {
            expect(error).toBeInstanceOf(SheafError)
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})

test('a deletion file must fit its manifest', () => {
  const { fragments } = readManifest(newest, 'x.manifest')
  const deletions = fragments[0]!.deletions!
  const bytes = new Uint8Array(readFileSync(join(table, deletions.path)))
  expect(decodeDeletions(bytes, deletions, 40).count).toBe(11)
  expect(() => decodeDeletions(bytes, { ...deletions, rows: 12 }, 40)).toThrow('11 deleted rows')
  expect(() => decodeDeletions(bytes, deletions, 30)).toThrow('beyond the 30 rows')
  expect(() => decodeDeletions(bytes.subarray(0, 100), deletions, 40)).toThrow(SheafError)
})

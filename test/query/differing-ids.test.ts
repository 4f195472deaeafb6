import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Pacer } from '../../src/primitives/pacer.js'
import { ascendingIds, differingIds, idNumbers } from '../../src/query/differing-ids.js'

/** Near 0, around 2^32, and up to 2^53: few enough that two lists have some in common. */
const id = fc
  .tuple(fc.constantFrom(0, 2 ** 32 - 5, 2 ** 40, 2 ** 53 - 11), fc.nat(10))
  .map(([base, more]) => base + more)
const list = fc.uniqueArray(id, { maxLength: 30 })

test('ids in any order, in pages, are sorted, and compared', async () => {
  await fc.assert(
    fc.asyncProperty(list, list, fc.integer({ min: 1, max: 9 }), async (a, b, size) => {
      const pacer = new Pacer()
      const sorted = (ids: number[]) => ids.toSorted((x, y) => x - y)
      const inOrder = async (ids: number[]) => {
        const pages: Float64Array[] = []
        for (let at = 0; at < ids.length; at += size) {
          pages.push(idNumbers(BigUint64Array.from(ids.slice(at, at + size), BigInt)))
        }
        const all = await ascendingIds(pages, pacer)
        expect([...all]).toEqual(sorted(ids))
        return all
      }
      const { added, removed, both } = await differingIds(await inOrder(a), await inOrder(b), pacer)
      expect([...added]).toEqual(sorted(b.filter(each => !a.includes(each))))
      expect([...removed]).toEqual(sorted(a.filter(each => !b.includes(each))))
      expect([...both]).toEqual(sorted(a.filter(each => b.includes(each))))
    }),
  )
})

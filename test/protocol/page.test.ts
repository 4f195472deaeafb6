import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Listing, namespaceNames, paginate, tableNames, tagNames } from '../../src/protocol/page.js'

const versions: Listing<{ version: number }> = {
  name: 'versions',
  key: item => item.version,
  descending: true,
}

const sortedNamesOf = fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1 })).map(names => names.sort())

function walk<T>(items: readonly T[], listing: Listing<T>, limits: readonly number[]): T[] {
  const seen: T[] = []
  let page_token: string | undefined
  for (let turn = 0; turn === 0 || page_token !== undefined; turn++) {
    const limit = limits[turn % limits.length]!
    const page = paginate(items, listing, { page_token, limit })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    expect(turn).toBeLessThanOrEqual(items.length)
    seen.push(...page.items)
    page_token = page.page_token
  }
  return seen
}

const limitsOf = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 })

describe('A-032 a walk returns each item once, in order, whatever the limits', () => {
  test('of names', () => {
    fc.assert(
      fc.property(sortedNamesOf, limitsOf, (names, limits) => {
        expect(walk(names, tagNames, limits)).toStrictEqual(names)
      }),
    )
  })

  test('of numbers, newest first', () => {
    const numbers = fc
      .uniqueArray(fc.nat())
      .map(list => list.sort((a, b) => b - a).map(version => ({ version })))
    fc.assert(
      fc.property(numbers, limitsOf, (items, limits) => {
        expect(walk(items, versions, limits)).toStrictEqual(items)
      }),
    )
  })

  test('while items come and go', () => {
    fc.assert(
      fc.property(sortedNamesOf, sortedNamesOf, limitsOf, (before, after, [limit]) => {
        const first = paginate(before, tagNames, { limit })
        if (first.page_token === undefined) return
        const rest = walk(after, tagNames, [after.length + 1])
        const second = paginate(after, tagNames, { page_token: first.page_token })
        expect(second.items).toStrictEqual(rest.filter(name => name > first.items.at(-1)!))
      }),
    )
  })
})

test('A-030 without a token, or with an empty one, the first page; on the last page no token', () => {
  for (const page_token of [undefined, '']) {
    const page = paginate(['a', 'b'], tableNames, { page_token, limit: 1 })
    expect(page.items).toStrictEqual(['a'])
    expect(paginate(['a', 'b'], tableNames, { page_token: page.page_token, limit: 1 })).toStrictEqual({
      items: ['b'],
    })
  }
})

test('A-031 a page that takes everything says that nothing follows', () => {
  expect(paginate(['a', 'b'], tableNames, { limit: 2 })).toStrictEqual({ items: ['a', 'b'] })
})

test('A-033 without a limit everything', () => {
  expect(paginate(['a', 'b', 'c'], tableNames, {})).toStrictEqual({ items: ['a', 'b', 'c'] })
})

describe('A-034 tokens', () => {
  const token = paginate(['a', 'b'], tableNames, { limit: 1 }).page_token!
  const bad = expect.objectContaining({ code: 13, status: 400 })

  test('begin with fixed characters, and are opaque', () => {
    expect(token).toMatch(/^~1\.[\w-]+$/)
  })

  test('for another kind of list are refused', () => {
    expect(() => paginate(['a'], tagNames, { page_token: token })).toThrowError(bad)
    expect(() => paginate([{ version: 1 }], versions, { page_token: token })).toThrowError(bad)
    expect(() => paginate(['a'], namespaceNames, { page_token: token })).toThrowError(bad)
  })

  test('that were changed are refused', () => {
    const forged = [
      `${token}A`,
      `${token}=`,
      token.slice(0, -1),
      '~1.',
      '~1.!!',
      '~1.bnVsbA',
      `~1.${Buffer.from('["tables"]').toString('base64url')}`,
    ]
    for (const page_token of [...forged, `~1.${Buffer.from('["tables",{"a":1}]').toString('base64url')}`]) {
      expect(() => paginate(['a', 'b'], tableNames, { page_token })).toThrowError(bad)
    }
    const number = `~1.${Buffer.from('["tables",5]').toString('base64url')}`
    expect(() => paginate(['a', 'b'], tableNames, { page_token: number })).toThrowError(bad)
  })

  test('on tables and namespaces any other text is a name to start after; elsewhere it is refused', () => {
    expect(paginate(['a', 'b', 'c'], tableNames, { page_token: 'a', limit: 1 }).items).toStrictEqual(['b'])
    expect(paginate(['a', 'b', 'c'], namespaceNames, { page_token: 'bb' }).items).toStrictEqual(['c'])
    expect(() => paginate(['a', 'b'], tagNames, { page_token: 'a' })).toThrowError(bad)
    expect(() => paginate([{ version: 1 }], versions, { page_token: '1' })).toThrowError(bad)
  })

  test('any text gives a page or a refusal', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (text, ours) => {
        const page_token = ours ? `~1.${text}` : text
        try {
          expect(paginate(['a', 'b'], tableNames, { page_token }).items.length).toBeLessThanOrEqual(2)
        } catch (error) {
          expect(error).toMatchObject({ code: 13 })
        }
      }),
    )
  })
})

test('A-034 a token is valid for its own list alone: same kind, same scope, same direction, a possible key', () => {
  const numbers: Listing<number> = { name: 'versions', key: n => n, scope: 'table 1' }
  const { page_token } = paginate([1, 2, 3], numbers, { limit: 1 })
  expect(paginate([1, 2, 3], numbers, { page_token }).items).toEqual([2, 3])
  const refused = expect.objectContaining({ code: 13 })
  for (const other of [
    { ...numbers, scope: 'table 2' },
    { ...numbers, descending: true },
    { ...numbers, name: 'tags' as const },
  ]) {
    expect(() => paginate([1, 2, 3], other, { page_token })).toThrow(refused)
  }
  for (const key of [2.5, -1, 2 ** 60, null, true, [1]]) {
    const forged = `~1.${Buffer.from(JSON.stringify(['versions', 'table 1', false, key])).toString('base64url')}`
    expect(() => paginate([1, 2, 3], numbers, { page_token: forged }), String(key)).toThrow(refused)
  }
})

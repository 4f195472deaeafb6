/**
 * whoever walks a list page by page sees everything that was there all the time exactly once, in order, whatever came
 * and went between two pages.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Namespace } from '../../src/index.js'
import { temporaryRoots } from '../support/roots.js'
import { type Door, doors } from '../support/transports.js'

interface Page {
  readonly items: readonly (string | number)[]
  readonly page_token?: string | undefined
}

/** A list that can be walked, and changed meanwhile. Items are small numbers; `name` is how one shows. */
interface Listing {
  readonly name: (item: number) => string | number
  readonly descending?: boolean
  readonly begin?: (ns: Namespace) => Promise<unknown>
  readonly add: (ns: Namespace, item: number) => Promise<unknown>
  readonly remove: (ns: Namespace, item: number) => Promise<unknown>
  readonly page: (ns: Namespace, paging: { limit?: number; page_token?: string }) => Promise<Page>
}

const text = (item: number) => `n${item}`
const asVersions: Listing = {
  name: item => item,
  begin: ns => ns.operations.declareTable({ id: ['t'] }),
  add: (ns, version) => ns.operations.createTableVersion({ id: ['t'], version, manifest_path: 'x' }),
  remove: (ns, version) => {
    const ranges = [{ start_version: version, end_version: version + 1 }]
    return ns.operations.batchDeleteTableVersions({ id: ['t'], ranges })
  },
  async page(ns, paging) {
    const descending = this.descending === true
    const { versions, page_token } = await ns.operations.listTableVersions({
      id: ['t'],
      descending,
      ...paging,
    })
    return { items: versions.map(({ version }) => version), page_token }
  },
}

const listings: Readonly<Record<string, Listing>> = {
  namespaces: {
    name: text,
    add: (ns, item) => ns.createNamespace(text(item)),
    remove: (ns, item) => ns.dropNamespace(text(item)),
    async page(ns, paging) {
      const { namespaces, page_token } = await ns.operations.listNamespaces({ id: [], ...paging })
      return { items: namespaces, page_token }
    },
  },
  tables: {
    name: text,
    add: (ns, item) => ns.operations.declareTable({ id: [text(item)] }),
    remove: (ns, item) => ns.dropTable(text(item)),
    async page(ns, paging) {
      const { tables, page_token } = await ns.operations.listTables({ id: [], ...paging })
      return { items: tables, page_token }
    },
  },
  'all tables': {
    name: item => (item % 2 === 0 ? `a.n${item}` : text(item)),
    begin: ns => ns.createNamespace('a'),
    add: (ns, item) => ns.operations.declareTable({ id: item % 2 === 0 ? ['a', text(item)] : [text(item)] }),
    remove: (ns, item) => ns.dropTable(item % 2 === 0 ? ['a', text(item)] : text(item)),
    async page(ns, paging) {
      const { tables, page_token } = await ns.operations.listAllTables({ delimiter: '.', ...paging })
      return { items: tables, page_token }
    },
  },
  versions: asVersions,
  'versions, newest first': { ...asVersions, descending: true },
  tags: {
    name: text,
    async begin(ns) {
      await asVersions.begin!(ns)
      await asVersions.add(ns, 1)
    },
    add: (ns, item) => ns.operations.createTableTag({ id: ['t'], tag: text(item), version: 1 }),
    remove: (ns, item) => ns.operations.deleteTableTag({ id: ['t'], tag: text(item) }),
    async page(ns, paging) {
      const { tags, page_token } = await ns.operations.listTableTags({ id: ['t'], ...paging })
      return { items: Object.keys(tags), page_token }
    },
  },
}

interface Walk {
  readonly first: readonly number[]
  readonly steps: readonly { readonly limit: number; readonly toggled: readonly number[] }[]
}

/** Items that come and go before a page, and how many that page may have. */
const step = fc.record({
  limit: fc.integer({ min: 1, max: 4 }),
  toggled: fc.array(fc.integer({ min: 1, max: 14 }), { maxLength: 3 }),
})
const walks = fc.record({
  first: fc.uniqueArray(fc.integer({ min: 1, max: 14 }), { maxLength: 14, size: 'max' }),
  steps: fc.array(step, { minLength: 1, maxLength: 6 }),
})

async function walk(listing: Listing, ns: Namespace, { first, steps }: Walk) {
  await listing.begin?.(ns)
  // A number of a version is used once: what is gone stays gone, and new ones are higher than all before.
  const isOnce = typeof listing.name(1) === 'number'
  const here = new Set<number>()
  let highest = 0
  const add = async (item: number) => {
    await listing.add(ns, item)
    here.add(item)
    highest = Math.max(highest, item)
  }
  for (const item of isOnce ? [...first].sort((a, b) => a - b) : first) await add(item)
  const always = new Set(here)
  const ever = new Set(here)
  const found: (string | number)[] = []
  let token: string | undefined
  for (let i = 0; ; i++) {
    const { limit, toggled } = steps[i % steps.length]!
    for (const item of i === 0 ? [] : toggled) {
      if (here.has(item)) {
        await listing.remove(ns, item)
        here.delete(item)
        always.delete(item)
      } else if (i < 40) {
        const fresh = isOnce ? highest + 1 : item
        await add(fresh)
        ever.add(fresh)
      }
    }
    const page = await listing.page(ns, { limit, ...(token !== undefined && { page_token: token }) })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    found.push(...page.items)
    token = page.page_token
    if (token === undefined || token === '') break
  }
  const order = listing.descending === true ? -1 : 1
  for (let i = 1; i < found.length; i++) expect(found[i - 1]! < found[i]! ? 1 : -1).toBe(order)
  expect(new Set(found).size).toBe(found.length)
  for (const item of always) expect(found).toContain(listing.name(item))
  const names = [...ever].map(item => listing.name(item))
  for (const item of found) expect(names).toContain(item)

  const whole = (await listing.page(ns, {})).items
  const sorted = [...here].map(item => listing.name(item)).sort((a, b) => (a < b ? -order : order))
  expect(whole).toEqual(sorted)
}

const pagedBy = ({ name, open }: Door, runs: number) => {
  test.each(Object.keys(listings))(
    `A-032 ${name}: paging through %s misses no item that stayed`,
    async kind => {
      await fc.assert(
        fc.asyncProperty(walks, async made => {
          const { ns, close } = await open()
          try {
            await walk(listings[kind]!, ns, made)
          } finally {
            await close()
          }
        }),
        { numRuns: runs },
      )
    },
  )
}

const [inMemory, , overHttp, inWorker] = doors(temporaryRoots())
pagedBy(inMemory!, 60)
pagedBy(overHttp!, 12)
pagedBy(inWorker!, 4)

/**
 * Pages of a sorted list. A page begins after the key its token carries, so items that come and go between two pages
 * neither repeat nor hide others.
 */
import { invalidInput, quote } from '../errors.js'

const prefix = '~1.'

export interface Listing<T> {
  /** Names the kind of list; a token of another kind is refused. */
  readonly name: 'namespaces' | 'tables' | 'indexes' | 'versions' | 'tags' | 'branches'
  /** What the items are sorted by, unique: names by code unit (`<`), or numbers. */
  readonly key: (item: T) => string | number
  readonly descending?: boolean
  /** Whether a token that is not ours is the name to start after, as one client sends it. */
  readonly startAfterNames?: boolean
}

function byName(name: Listing<string>['name'], startAfterNames = false): Listing<string> {
  return { name, key: item => item, startAfterNames }
}

export const namespaceNames = byName('namespaces', true)
export const tableNames = byName('tables', true)
export const tagNames = byName('tags')

export interface PageRequest {
  readonly page_token?: string | undefined
  readonly limit?: number | undefined
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Absent on the last page. */
  readonly page_token?: string
}

/** The page of sorted `items` that `request` asks for; a token that is not of this kind of list is InvalidInput. */
export function paginate<T>(items: readonly T[], listing: Listing<T>, request: PageRequest): Page<T> {
  const after = startKey(items, listing, request.page_token)
  const from = after === undefined ? 0 : firstBeyond(items, listing, after)
  const to = Math.min(items.length, from + (request.limit ?? items.length))
  const page = items.slice(from, to)
  return to < items.length && page.length > 0
    ? { items: page, page_token: pageToken(listing.name, listing.key(page.at(-1)!)) }
    : { items: page }
}

function pageToken(name: string, key: string | number): string {
  return prefix + Buffer.from(JSON.stringify([name, key])).toString('base64url')
}

function startKey<T>(
  items: readonly T[],
  listing: Listing<T>,
  token: string | undefined,
): string | number | undefined {
  if (token === undefined || token === '') return undefined
  if (!token.startsWith(prefix) && listing.startAfterNames) return token
  const key = readToken(token, listing.name)
  if (key === undefined || (items.length > 0 && typeof key !== typeof listing.key(items[0]!))) {
    throw invalidInput(`page_token ${quote(token)} is not a token of a list of ${listing.name}`, {
      hint: 'pass the page_token of the previous reply unchanged, or none for the first page',
    })
  }
  return key
}

/** The key in a token that `pageToken` made for this kind of list. */
function readToken(token: string, name: string): string | number | undefined {
  let content: unknown
  try {
    content = JSON.parse(Buffer.from(token.slice(prefix.length), 'base64url').toString())
  } catch {
    return undefined
  }
  if (!Array.isArray(content)) return undefined
  const key: unknown = content[1]
  if (typeof key !== 'string' && typeof key !== 'number') return undefined
  return token === pageToken(name, key) ? key : undefined
}

/** Index of the first item after `key` in the order of the list, by binary search. */
function firstBeyond<T>(items: readonly T[], listing: Listing<T>, key: string | number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const here = listing.key(items[middle]!)
    if (listing.descending ? here < key : here > key) high = middle
    else low = middle + 1
  }
  return low
}

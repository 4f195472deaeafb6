/**
 * Pages of a sorted list. A page begins after the key in its token. So changes of the list between two pages do not
 * make the next page repeat or skip other items.
 */
import { invalidInput, quote } from '../errors.js'
import { partitionPoint } from '../primitives/partition-point.js'

const prefix = '~1.'

export interface Listing<T> {
  /** The kind of the listed items. A token from a list of another kind is refused. */
  readonly name: 'namespaces' | 'tables' | 'views' | 'indexes' | 'versions' | 'tags' | 'branches' | 'jobs'
  /** Returns the unique sort key of an item: a name, sorted by code unit (`<`), or a number. */
  readonly key: (item: T) => string | number
  readonly descending?: boolean
  /**
   * Id of this list among the lists of its kind. A token from another list is refused. Default: the kind has one list.
   */
  readonly scope?: string
  /** Whether a token in another form is the name after which the page begins. One client sends such tokens. */
  readonly startAfterNames?: boolean
}

function byName(name: Listing<string>['name'], startAfterNames = false): Listing<string> {
  return { name, key: item => item, startAfterNames }
}

export const namespaceNames = byName('namespaces', true)
export const tableNames = byName('tables', true)
export const viewNames = byName('views')
export const tagNames = byName('tags')

export interface PageRequest {
  readonly page_token?: string | undefined
  readonly limit?: number | undefined
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Token for the next page. Absent on the last page. */
  readonly page_token?: string
}

/** Return the page of sorted `items` that `request` asks for. Throws InvalidInput for a token from another list. */
export function paginate<T>(items: readonly T[], listing: Listing<T>, request: PageRequest): Page<T> {
  const keyType = items.length === 0 ? undefined : typeof listing.key(items[0]!)
  return pageOf(listing, request, keyType, (after, count) => {
    const from = after === undefined ? 0 : firstBeyond(items, listing, after)
    return items.slice(from, from + count)
  })
}

/**
 * Like `paginate`, for numbers that are not in memory. `take` returns at most `count` numbers, beginning after `after`.
 */
export function paginateNumbers(
  listing: Listing<number>,
  request: PageRequest,
  take: (after: number | undefined, count: number) => readonly number[],
): Page<number> {
  return pageOf(listing, request, 'number', (after, count) => take(after as number | undefined, count))
}

function pageOf<T>(
  listing: Listing<T>,
  request: PageRequest,
  keyType: string | undefined,
  take: (after: string | number | undefined, count: number) => readonly T[],
): Page<T> {
  const { limit = Number.POSITIVE_INFINITY } = request
  const found = take(startKey(listing, keyType, request.page_token), limit + 1)
  const items = found.slice(0, limit)
  return found.length > items.length && items.length > 0
    ? { items, page_token: pageToken(listing, listing.key(items.at(-1)!)) }
    : { items }
}

function pageToken<T>({ name, scope = '', descending = false }: Listing<T>, key: string | number): string {
  return prefix + Buffer.from(JSON.stringify([name, scope, descending, key])).toString('base64url')
}

function startKey<T>(
  listing: Listing<T>,
  keyType: string | undefined,
  token: string | undefined,
): string | number | undefined {
  if (token === undefined || token === '') return undefined
  if (!token.startsWith(prefix) && listing.startAfterNames) return token
  const key = readToken(token, listing)
  if (key === undefined || (keyType !== undefined && typeof key !== keyType)) {
    throw invalidInput(`page_token ${quote(token)} is not a token of this list of ${listing.name}`, {
      hint: 'pass the page_token of the previous reply unchanged, or leave it out for the first page',
    })
  }
  return key
}

/** Return the key from a token that `pageToken` made for this list. Undefined for any other text. */
function readToken<T>(token: string, listing: Listing<T>): string | number | undefined {
  let content: unknown
  try {
    content = JSON.parse(Buffer.from(token.slice(prefix.length), 'base64url').toString())
  } catch {
    return undefined
  }
  if (!Array.isArray(content)) return undefined
  const key: unknown = content.at(-1)
  if (typeof key !== 'string' && !(Number.isSafeInteger(key) && (key as number) >= 0)) return undefined
  return token === pageToken(listing, key as string | number) ? (key as string | number) : undefined
}

/** Return the index of the first item after `key` in the order of the list, by binary search. */
function firstBeyond<T>(items: readonly T[], listing: Listing<T>, key: string | number): number {
  return partitionPoint(items.length, i => {
    const here = listing.key(items[i]!)
    return listing.descending ? here >= key : here <= key
  })
}

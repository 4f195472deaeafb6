/** Options that the stores of all providers have, and the import of the packages of providers. */
import { invalidInput, quote } from '../../src/errors.js'
import {
  given,
  integer,
  optionFields,
  type Shape,
  options as shape,
  string,
} from '../../src/protocol/shape.js'
import { isKey } from '../../src/storage/key.js'
import type { RequestPrices } from '../../src/storage/request-tally.js'
import type { ObjectStoreSettings } from './object-store.js'

/** Options of all stores in object storage. */
export interface ObjectStoreOptions {
  /** The folder of the bucket that contains the root, for example `databases/main`. Default: the whole bucket. */
  readonly prefix?: string | undefined
  /**
   * Maximum time in milliseconds without an answer to a request, or without a further byte of the answer. Large requests
   * get an additional second for each 256 KiB. Default 30,000.
   */
  readonly timeoutMs?: number | undefined
  /** Maximum number of repetitions of a request that failed or got no answer. Default 5. */
  readonly retries?: number | undefined
  /**
   * Prices of requests in US dollars, from which `analyze()` estimates the cost of a query. Default: list prices of the
   * provider for standard storage, if its own servers are used. Received bytes are free, as within a region.
   */
  readonly prices?: Partial<RequestPrices> | undefined
}

const price = given<number>('a number >= 0', value => typeof value === 'number' && value >= 0)

/** The shapes of the common options. */
export const commonFields = optionFields<ObjectStoreOptions>()({
  prefix: string(),
  timeoutMs: integer(1, 2 ** 31 - 1),
  retries: integer(0, 100),
  prices: shape<Partial<RequestPrices>>()({
    perMillionReads: price,
    perMillionWrites: price,
    perGiBReceived: price,
  }),
})

/** Return the shape of a client or of its configuration, whose content only the package of the client checks. */
export function ofClient<T extends object>(): Shape<T> {
  return given<T>('an object', value => typeof value === 'object' && value !== null)
}

/** Throw `InvalidInput` if the value of the option with the name of a bucket is a URL. */
export function refuseUrl(option: string, value: string): void {
  const [, bucket, prefix] = /^[a-z][a-z0-9+.-]*:\/\/([^/]*)\/?(.*)$/i.exec(value) ?? []
  if (bucket === undefined) return
  const more = prefix === '' ? '' : ` and prefix: ${quote(prefix)}`
  throw invalidInput(`${option} must be a name, not a URL, got ${quote(value)}`, {
    hint: `pass ${option}: ${quote(bucket)}${more}`,
  })
}

/** Return the settings of a store. Throws `InvalidInput` if no key can begin with the prefix. */
export function settingsOf({
  prefix = '',
  timeoutMs = 30_000,
  retries = 5,
  prices,
}: ObjectStoreOptions): ObjectStoreSettings {
  const folder = prefix.replace(/\/$/, '')
  if (folder !== '' && !isKey(folder)) {
    throw invalidInput(`prefix must be a path of printable ASCII names joined by "/", got ${quote(prefix)}`)
  }
  return { prefix: folder === '' ? '' : `${folder}/`, timeoutMs, retries, prices }
}

/**
 * Import the package of a provider. `load` contains the import. `version`: '', or the version to install with `@` before
 * it, if the newest one does not run on Node 20. `user`: the code that needs the package. Throws `InvalidInput` with the command that installs the package if it
 * cannot be loaded.
 */
export async function importClient<M>(
  name: string,
  version: string,
  load: () => Promise<M>,
  user = 'this store',
): Promise<M> {
  try {
    return await load()
  } catch (cause) {
    throw invalidInput(`${user} needs the package ${quote(name)}, which cannot be loaded`, {
      hint: `npm install ${name}${version}`,
      cause,
    })
  }
}

/** Reads `GET /v1/table/{id}/changes`: where a stream of changes begins, and what its events contain. */
import { invalidInput, quote } from '../../src/errors.js'
import { refuseName } from '../../src/protocol/parse.js'

/** The parameters, as `/openapi.json` describes them. */
export const changesParameters = {
  since:
    'The last version that the caller knows; the stream begins with the next version. 0: with the first version. Default: the latest version.',
  rows: 'Whether events contain the rows. Default false: events contain the numbers of rows.',
} as const

const known = [...Object.keys(changesParameters), 'delimiter']

interface ChangesUrl {
  /** Undefined: the latest version. */
  readonly since: number | undefined
  readonly rows: boolean
  /** The parameters that the path needs. */
  readonly query: URLSearchParams
}

/**
 * Read the parameters. `lastEventId`: the header field `Last-Event-ID`, which a client sends when it connects again. It has priority over
 * `since`. Throws InvalidInput that names the parameter for an unknown or repeated one, and for an invalid value.
 */
export function readChangesUrl(given: URLSearchParams, lastEventId: string | undefined): ChangesUrl {
  for (const name of given.keys()) {
    if (!known.includes(name)) refuseName(name, known, 'the query of the URL')
    if (given.getAll(name).length > 1) throw invalidInput(`${name} is given twice in the query of the URL`)
  }
  const since = versionIn('since', given.get('since'))
  const rows = given.get('rows') ?? 'false'
  if (rows !== 'true' && rows !== 'false') {
    throw invalidInput(`rows must be true or false, got ${quote(rows)}`)
  }
  const delimiter = given.get('delimiter')
  return {
    // A client that has received no event yet may send an empty field.
    since: lastEventId === undefined || lastEventId === '' ? since : versionIn('Last-Event-ID', lastEventId),
    rows: rows === 'true',
    query: new URLSearchParams(delimiter === null ? {} : { delimiter }),
  }
}

function versionIn(name: string, text: string | null): number | undefined {
  if (text === null) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw invalidInput(`${name} must be a version, an integer from 0 to 999999999999999, got ${quote(text)}`)
}

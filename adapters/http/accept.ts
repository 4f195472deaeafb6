/**
 * Determines the form of the reply that a client wants, from the header fields Accept and Accept-Encoding (RFC 9110,
 * 12.5).
 */
import type { IncomingMessage } from 'node:http'
import { writesZstd } from '../../src/arrow/zstd.js'
import { invalidInput, quote, type SheafError, unsupported } from '../../src/errors.js'
import type { OperationEntry } from '../../src/protocol/operations.js'
import type { ContentCoding } from './content-coding.js'
import {
  arrowFile,
  arrowStream,
  csvText,
  jsonLines,
  jsonText,
  type MediaType,
  readMediaType,
  splitOutside,
} from './media-types.js'

/**
 * The forms of rows in a reply. `file` and `stream`: the two Arrow IPC formats. `json`: an array of objects. `ndjson`:
 * one object per line.
 */
export const rowForms = ['file', 'stream', 'json', 'ndjson', 'csv'] as const
export type RowForm = (typeof rowForms)[number]
export type TextForm = Exclude<RowForm, 'file' | 'stream'>

export interface Wanted {
  readonly form: RowForm
  /** The media type of rows in this form. */
  readonly type: string
  /** Codec of the buffers inside Arrow messages. Undefined: the buffers are not compressed. */
  readonly codec: 'lz4' | 'zstd' | undefined
  /** Coding of the whole body. Undefined: the body is not compressed. */
  readonly coding: ContentCoding | undefined
}

interface Choice extends MediaType {
  readonly weight: number
}

/** The parts of a request, in addition to Accept, that determine the form of a reply. */
interface Asking {
  /** Whether rows may be text. Otherwise they are Arrow. */
  readonly takesText: boolean
  /** Whether `application/json` accepts an Arrow file. */
  readonly jsonIsArrow: boolean
  /** The forms in order of preference. Among forms that the client prefers equally, the first one wins. */
  readonly order: readonly RowForm[]
  /** The form in the URL, which has priority over Accept. */
  readonly form: RowForm | undefined
}

/**
 * Return the form of the reply that a client wants. Throws Unsupported with status 406 if the client accepts no form of
 * the operation's reply.
 *
 * Without a preference of the client, the form is the first of `order`. Clients generated from the specification accept
 * only JSON even for operations that reply with Arrow, because errors are JSON. With `jsonIsArrow`, `application/json`
 * therefore also accepts an Arrow file.
 */
export function wantedOf(
  { headers, httpVersion }: IncomingMessage,
  { reply }: OperationEntry,
  { takesText, jsonIsArrow, order, form }: Asking,
): Wanted {
  const coding = httpVersion === '1.0' ? undefined : codingOf(headers['accept-encoding'], reply === 'arrow')
  const usual = (form: RowForm): Wanted => ({ form, type: typesOf[form][0]!, codec: undefined, coding })
  if (form !== undefined) return usual(form)
  const choices = choicesIn(headers.accept)
  if (choices.length === 0 || reply === 'empty') return usual(order[0]!)
  if (reply === 'json' || reply === 'integer' || reply === 'text') {
    checkAccepted(headers.accept, jsonText)
    return usual('json')
  }
  let best: Offer | undefined
  for (const form of takesText ? order : arrowForms) {
    if (form === 'json' && jsonIsArrow) continue
    for (const type of form === 'file' && jsonIsArrow ? [arrowFile, jsonText] : typesOf[form]) {
      const offer = { form, type, ...weightOf(choices, type) }
      if (best === undefined || isStronger(offer, best)) best = offer
    }
  }
  if (best === undefined || best.weight === 0) {
    throw notAcceptable(
      headers.accept!,
      (takesText ? order : arrowForms).map(form => typesOf[form][0]!),
    )
  }
  if (isTextForm(best.form)) return { ...usual(best.form), type: best.type }
  const codec = codecOf(best.parameters)
  return { ...usual(best.form), codec, coding: codec === undefined ? coding : undefined }
}

/** Throw Unsupported with status 406 if the field Accept does not allow the only type of a reply. */
export function checkAccepted(accept: string | undefined, type: string): void {
  const choices = choicesIn(accept)
  if (choices.length > 0 && weightOf(choices, type).weight === 0) throw notAcceptable(accept!, [type])
}

/** A form that the server offers, with the weight that the client gives it. */
interface Offer extends Weighed {
  readonly form: RowForm
  readonly type: string
}

/** Return whether a form is text. */
export function isTextForm(form: RowForm): form is TextForm {
  return form !== 'file' && form !== 'stream'
}

const arrowForms: readonly RowForm[] = ['file', 'stream']

/** The media types of each form. The first type is used unless the client prefers another. */
const typesOf: Readonly<Record<RowForm, readonly string[]>> = {
  file: [arrowFile],
  stream: [arrowStream],
  json: [jsonText],
  ndjson: jsonLines,
  csv: [csvText],
}

function notAcceptable(accept: string, known: readonly string[]): SheafError {
  return unsupported(`the client accepts only ${quote(accept)}, which the server cannot send here`, {
    hint: `accept ${known.join(' or ')}`,
  })
}

/**
 * Parse a list of types or codings with their weights, from 0 to 1. The default weight is 1; an invalid weight counts
 * as 0.
 */
function choicesIn(field: string | undefined): Choice[] {
  return splitOutside(field ?? '', ',').flatMap(element => {
    const { name, parameters } = readMediaType(element)
    if (name === '') return []
    const weight = Number(parameters.get('q') ?? 1)
    return [{ name, parameters, weight: weight >= 0 && weight <= 1 ? weight : 0 }]
  })
}

interface Weighed extends Pick<Choice, 'weight' | 'parameters'> {
  /**
   * How precisely the client named the type. 2: this type. 1: its main type, such as `text/*`. 0: any type. -1: not at
   * all.
   */
  readonly precision: number
}

const none: Weighed = { weight: 0, parameters: new Map(), precision: -1 }

/** Return the weight of a media type. If several elements match the type, the most precise one counts. */
function weightOf(choices: readonly Choice[], type: string): Weighed {
  const ranges = ['*/*', `${type.slice(0, type.indexOf('/'))}/*`, type]
  for (let precision = 2; precision >= 0; precision--) {
    const choice = choices.find(({ name }) => name === ranges[precision])
    if (choice !== undefined) return { ...choice, precision }
  }
  return none
}

function isStronger(a: Weighed, b: Weighed): boolean {
  return a.weight === b.weight ? a.precision > b.precision : a.weight > b.weight
}

/**
 * Return the codec of Arrow buffers. The parameter `codecs` of an Arrow type lists the codecs that the client can read,
 * best first, for example `codecs="zstd, lz4"`. Throws Unsupported or InvalidInput with status 406 if this server has
 * none of these codecs.
 */
function codecOf(parameters: ReadonlyMap<string, string>): Wanted['codec'] {
  const codecs = parameters.get('codecs')
  if (codecs === undefined) return undefined
  const names = splitOutside(codecs.toLowerCase(), ',')
  for (const name of names) {
    if (name === 'lz4' || name === 'lz4_frame') return 'lz4'
    if (name === 'zstd' && writesZstd) return 'zstd'
    if (name === 'none' || name === 'identity') return undefined
  }
  if (names.includes('zstd')) {
    throw unsupported('this version of Node cannot write ZSTD', { hint: 'ask for codecs="zstd, lz4"' })
  }
  throw invalidInput(`codecs must name lz4, zstd or none, got ${quote(codecs)}`, {
    hint: 'ask for lz4 or zstd',
    status: 406,
  })
}

/**
 * Return the coding that the client prefers to an uncompressed body; undefined if it prefers an uncompressed body.
 * `rows`: whether the body has Arrow rows.
 *
 * Most clients accept gzip by default, but gzip takes ten times as long as sending rows over a fast network. So rows
 * are compressed only if the client gives `identity` a smaller weight than a coding.
 */
function codingOf(field: string | undefined, rows: boolean): ContentCoding | undefined {
  if (field === undefined) return undefined
  const choices = choicesIn(field)
  const any = weightIn(choices, '*')
  let best: ContentCoding | undefined
  let most = weightIn(choices, 'identity') ?? (any === 0 ? 0 : rows ? 1 : 0)
  for (const coding of writesZstd ? (['zstd', 'gzip'] as const) : (['gzip'] as const)) {
    const weight = weightIn(choices, coding) ?? any ?? 0
    if (weight <= most) continue
    best = coding
    most = weight
  }
  return best
}

function weightIn(choices: readonly Choice[], name: string): number | undefined {
  return choices.find(choice => choice.name === name)?.weight
}

/** Reads which reply a client wants: the header fields Accept and Accept-Encoding (RFC 9110, 12.5). */
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

/** The forms of rows. `json`: an array of objects. `ndjson`: one object per line. */
export const rowForms = ['file', 'stream', 'json', 'ndjson', 'csv'] as const
export type RowForm = (typeof rowForms)[number]
export type TextForm = Exclude<RowForm, 'file' | 'stream'>

export interface Wanted {
  readonly form: RowForm
  /** The media type of rows in this form. */
  readonly type: string
  /** Codec of buffers inside Arrow messages; undefined: not compressed. */
  readonly codec: 'lz4' | 'zstd' | undefined
  /** Coding of the whole body; undefined: not compressed. */
  readonly coding: ContentCoding | undefined
}

interface Choice extends MediaType {
  readonly weight: number
}

/** The form of a reply depends on the header field Accept and on these members. */
interface Asking {
  /** Whether rows may be text. Otherwise they are Arrow. */
  readonly takesText: boolean
  /** Whether `application/json` accepts an Arrow file. */
  readonly jsonIsArrow: boolean
  /** The forms, the first of those that the client prefers equally. */
  readonly order: readonly RowForm[]
  /** The form in the URL, which has priority over Accept. */
  readonly form: RowForm | undefined
}

/**
 * Return which reply a client wants. Throws Unsupported with status 406 if the client accepts no form of the operation's reply.
 *
 * The form is the first of `order` if the client prefers none. Clients that are generated from the specification ask for JSON wherever an
 * operation may answer JSON, and errors always are JSON: for them, `application/json` accepts an Arrow file.
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

/** A form with the weight of its type. */
interface Offer extends Weighed {
  readonly form: RowForm
  readonly type: string
}

/** Return whether a form is text. */
export function isTextForm(form: RowForm): form is TextForm {
  return form !== 'file' && form !== 'stream'
}

const arrowForms: readonly RowForm[] = ['file', 'stream']

/** The media types of each form. The first is the usual one. */
const typesOf: Readonly<Record<RowForm, readonly string[]>> = {
  file: [arrowFile],
  stream: [arrowStream],
  json: [jsonText],
  ndjson: jsonLines,
  csv: [csvText],
}

function notAcceptable(accept: string, known: readonly string[]): SheafError {
  return unsupported(`the client accepts only ${quote(accept)}`, { hint: `accept ${known.join(' or ')}` })
}

/** Return the elements of a list with their weights (0 to 1; default 1). */
function choicesIn(field: string | undefined): Choice[] {
  return splitOutside(field ?? '', ',').flatMap(element => {
    const { name, parameters } = readMediaType(element)
    if (name === '') return []
    const weight = Number(parameters.get('q') ?? 1)
    return [{ name, parameters, weight: weight >= 0 && weight <= 1 ? weight : 0 }]
  })
}

interface Weighed extends Pick<Choice, 'weight' | 'parameters'> {
  /** 2: the client named this type; 1: its main type; 0: any type. */
  readonly precision: number
}

const none: Weighed = { weight: 0, parameters: new Map(), precision: -1 }

/** Return the weight of a type: that of the choice that names the type most precisely. */
function weightOf(choices: readonly Choice[], type: string): Weighed {
  const ranges = ['*/*', `${type.slice(0, type.indexOf('/'))}/*`, type]
  for (let precision = 2; precision >= 0; precision--) {
    const said = choices.find(({ name }) => name === ranges[precision])
    if (said !== undefined) return { ...said, precision }
  }
  return none
}

function isStronger(a: Weighed, b: Weighed): boolean {
  return a.weight === b.weight ? a.precision > b.precision : a.weight > b.weight
}

/**
 * Return the codec of Arrow buffers. The parameter `codecs` of an Arrow type lists the codecs of the client, best first:
 * `codecs="zstd, lz4"`. Throws Unsupported or InvalidInput with status 406 if this server has none of them.
 */
function codecOf(parameters: ReadonlyMap<string, string>): Wanted['codec'] {
  const said = parameters.get('codecs')
  if (said === undefined) return undefined
  const names = splitOutside(said.toLowerCase(), ',')
  for (const name of names) {
    if (name === 'lz4' || name === 'lz4_frame') return 'lz4'
    if (name === 'zstd' && writesZstd) return 'zstd'
    if (name === 'none' || name === 'identity') return undefined
  }
  if (names.includes('zstd')) {
    throw unsupported('this version of Node cannot write ZSTD', { hint: 'ask for codecs="zstd, lz4"' })
  }
  throw invalidInput(`codecs must name lz4, zstd or none, got ${quote(said)}`, {
    hint: 'ask for lz4 or zstd',
    status: 406,
  })
}

/**
 * Return the coding that the client prefers to an uncompressed body; undefined: none. Clients accept gzip by default, but gzip takes ten
 * times as long as sending rows over a fast network. So `rows` are compressed only if the client gives `identity` a smaller weight.
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

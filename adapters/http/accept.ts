/** Reads which reply a client wants: the header fields Accept and Accept-Encoding (RFC 9110, 12.5). */
import type { IncomingMessage } from 'node:http'
import { writesZstd } from '../../src/arrow/zstd.js'
import { invalidInput, quote, type SheafError, unsupported } from '../../src/errors.js'
import type { OperationEntry } from '../../src/protocol/operations.js'
import type { ContentCoding } from './content-coding.js'

export const arrowFile = 'application/vnd.apache.arrow.file'
export const arrowStream = 'application/vnd.apache.arrow.stream'
export const jsonText = 'application/json'

export interface Wanted {
  readonly form: 'file' | 'stream'
  /** Codec of buffers inside Arrow messages; undefined: not compressed. */
  readonly codec: 'lz4' | 'zstd' | undefined
  /** Coding of the whole body; undefined: not compressed. */
  readonly coding: ContentCoding | undefined
}

interface Choice {
  readonly name: string
  readonly parameters: ReadonlyMap<string, string>
  readonly weight: number
}

/**
 * Return which reply a client wants. Throws Unsupported with status 406 if the client accepts no form of the operation's reply.
 *
 * An Arrow reply is a file if the client names no form. `application/json` accepts a file, too: generated clients of some languages ask for
 * JSON wherever an operation may answer JSON, and errors always are JSON.
 */
export function wantedOf({ headers, httpVersion }: IncomingMessage, { reply }: OperationEntry): Wanted {
  const coding = httpVersion === '1.0' ? undefined : codingOf(headers['accept-encoding'], reply === 'arrow')
  const choices = choicesIn(headers.accept)
  if (choices.length === 0 || reply === 'empty') return { form: 'file', codec: undefined, coding }
  if (reply === 'json') {
    if (weightOf(choices, jsonText).weight > 0) return { form: 'file', codec: undefined, coding }
    throw notAcceptable(headers.accept!, [jsonText])
  }
  const stream = weightOf(choices, arrowStream)
  const file = strongest(weightOf(choices, arrowFile), weightOf(choices, jsonText))
  const best = strongest(file, stream)
  if (best.weight === 0) throw notAcceptable(headers.accept!, [arrowFile, arrowStream])
  const form = best === stream ? 'stream' : 'file'
  const codec = codecOf(best.parameters)
  return { form, codec, coding: codec === undefined ? coding : undefined }
}

function notAcceptable(accept: string, known: readonly string[]): SheafError {
  return unsupported(`the client accepts only ${quote(accept)}`, { hint: `accept ${known.join(' or ')}` })
}

/** Return the elements of a list with their weights (0 to 1; default 1). */
function choicesIn(field: string | undefined): Choice[] {
  return splitOutside(field ?? '', ',').flatMap(element => {
    const [name, ...rest] = splitOutside(element, ';')
    if (name === undefined) return []
    const parameters = new Map(rest.map(parameter => nameAndValue(parameter)))
    const weight = Number(parameters.get('q') ?? 1)
    return [{ name: name.toLowerCase(), parameters, weight: weight >= 0 && weight <= 1 ? weight : 0 }]
  })
}

function nameAndValue(parameter: string): [string, string] {
  const at = parameter.indexOf('=')
  if (at === -1) return [parameter.toLowerCase(), '']
  return [
    parameter.slice(0, at).trim().toLowerCase(),
    parameter
      .slice(at + 1)
      .trim()
      .replace(/^"(.*)"$/, '$1'),
  ]
}

/** Return the parts between separators outside of quotes, trimmed, without empty ones. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = []
  let from = 0
  let quoted = false
  for (let i = 0; i <= text.length; i++) {
    if (text[i] === '"') quoted = !quoted
    if (i < text.length && (quoted || text[i] !== separator)) continue
    const part = text.slice(from, i).trim()
    if (part !== '') parts.push(part)
    from = i + 1
  }
  return parts
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

function strongest(a: Weighed, b: Weighed): Weighed {
  if (a.weight !== b.weight) return a.weight > b.weight ? a : b
  return a.precision >= b.precision ? a : b
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

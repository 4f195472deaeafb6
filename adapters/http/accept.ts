/** What a client wants a reply to be: the header fields Accept and Accept-Encoding (RFC 9110, 12.5). */
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
  /** How buffers are compressed inside Arrow messages; undefined: they are not. */
  readonly codec: 'lz4' | 'zstd' | undefined
  /** How the body is compressed as a whole; undefined: it is not. */
  readonly coding: ContentCoding | undefined
}

interface Choice {
  readonly name: string
  readonly parameters: ReadonlyMap<string, string>
  readonly weight: number
}

/**
 * What the reply of an operation is to be. Throws code 0 with status 406 where the client accepts nothing that the operation answers.
 *
 * Arrow replies are files where the client has no wish. Generated clients of some languages ask for JSON wherever an operation may answer it, and its
 * errors always are, so `application/json` accepts a file.
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
  return unsupported(`the client accepts ${quote(accept)} only`, { hint: `accept ${known.join(' or ')}` })
}

/** Elements of a list, with their weights (0 to 1; 1 where none is said). */
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

/** The parts between separators that do not stand in quotes, without blanks and empty ones. */
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
  /** 2: the type itself was named; 0: any type. */
  readonly precision: number
}

const none: Weighed = { weight: 0, parameters: new Map(), precision: -1 }

/** What is said of a type: by the choice that names it most precisely. */
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

/** The parameter `codecs` of an Arrow type lists what the client unpacks, best first: `codecs="zstd, lz4"`. Throws code 0 where none is known. */
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
    throw unsupported('the Node of this server does not write ZSTD', { hint: 'ask for codecs="zstd, lz4"' })
  }
  throw invalidInput(`codecs is ${quote(said)}: no codec of Arrow`, {
    hint: 'ask for lz4 or zstd',
    status: 406,
  })
}

/**
 * The coding of the body that a client prefers to none. Clients accept gzip by themselves, and to make it takes ten times as long as to send rows
 * over a fast network: of `rows` it is made only for clients that give `identity` a smaller weight.
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

/** The media types of bodies, and the syntax of header fields with media types (RFC 9110, 8.3 and 12.5). */

export const arrowFile = 'application/vnd.apache.arrow.file'
export const arrowStream = 'application/vnd.apache.arrow.stream'
export const jsonText = 'application/json'
export const csvText = 'text/csv'
export const eventStream = 'text/event-stream'
/** The media types of JSON objects, one per line. No such type is registered, so several names are in use. */
export const jsonLines: readonly string[] = [
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
]

export interface MediaType {
  /** The type, for example `text/csv`, in lower case. */
  readonly name: string
  /** The parameters by name. Names are in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

/** Parse one media type with its parameters. */
export function readMediaType(text: string): MediaType {
  const [name = '', ...rest] = splitOutside(text, ';')
  return { name: name.toLowerCase(), parameters: new Map(rest.map(nameAndValue)) }
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

/** Split a text at the separators that are outside of quotes. The parts are trimmed, and empty parts are left out. */
export function splitOutside(text: string, separator: string): string[] {
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

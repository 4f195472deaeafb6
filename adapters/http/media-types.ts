/** The media types of bodies, and the syntax of header fields that name some (RFC 9110, 8.3 and 12.5). */

export const arrowFile = 'application/vnd.apache.arrow.file'
export const arrowStream = 'application/vnd.apache.arrow.stream'
export const jsonText = 'application/json'
export const csvText = 'text/csv'
export const eventStream = 'text/event-stream'
/** The names of JSON objects, one per line. None is registered. */
export const jsonLines: readonly string[] = [
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
]

export interface MediaType {
  /** In lower case. */
  readonly name: string
  /** Names are in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

/** Read one media type with its parameters. */
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

/** Return the parts between separators outside of quotes, trimmed, without empty ones. */
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

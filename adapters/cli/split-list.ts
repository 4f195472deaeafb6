/** Splits the values of options that are lists of columns or SQL expressions. */
import { Misuse } from './misuse.js'

/**
 * Split a text at its commas, but not at commas inside of parentheses, brackets or quotes: `id,substr(name, 1, 3) AS n`
 * has two parts. Blanks around the parts are removed.
 */
export function splitList(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let quoted: string | undefined
  let start = 0
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if (quoted !== undefined) {
      if (character === quoted) quoted = undefined
    } else if (character === '"' || character === "'" || character === '`') quoted = character
    else if (character === '(' || character === '[') depth++
    else if (character === ')' || character === ']') depth--
    else if (character === ',' && depth <= 0) {
      parts.push(text.slice(start, i).trim())
      start = i + 1
    }
  }
  parts.push(text.slice(start).trim())
  return parts
}

/**
 * Return the argument of `Search.select`: names if all parts are columns, else expressions by name. An expression needs
 * a name: `upper(city) AS city`.
 */
export function selectionOf(parts: readonly string[]): readonly string[] | Readonly<Record<string, string>> {
  const named = parts.map(part => namedExpression(part))
  if (named.every(([name, expression]) => expression === null && name !== ''))
    return named.map(([name]) => name)
  const columns: Record<string, string> = {}
  for (const [i, [name, expression]] of named.entries()) {
    if (Object.hasOwn(columns, name)) throw new Misuse(`--select names ${name} twice`)
    columns[name] = expression ?? parts[i]!
  }
  return columns
}

const quotedName = /^(?:"((?:[^"]|"")+)"|`([^`]+)`)$/

/** Return the name of a selected part, and its expression, which is null for a column. */
function namedExpression(part: string): readonly [name: string, expression: string | null] {
  const [, expression, alias] = /^(.*\S)\s+as\s+("(?:[^"]|"")+"|`[^`]+`|[^\s"'`()]+)$/is.exec(part) ?? []
  if (expression !== undefined) return [unquoted(alias!), expression]
  // A text without blanks, quotes and operators is the name of a column, or of a field: meta.lang.
  if (quotedName.test(part) || /^[\p{L}_][\p{L}\p{N}_.-]*$/u.test(part)) return [unquoted(part), null]
  throw new Misuse(`--select: the expression ${JSON.stringify(part)} needs a name: write ${part} AS name`)
}

function unquoted(name: string): string {
  const [, double, back] = quotedName.exec(name) ?? []
  return double?.replaceAll('""', '"') ?? back ?? name
}

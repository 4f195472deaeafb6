/** Which operation a path means, by the table of operations. */
import {
  type OperationEntry,
  type OperationName,
  operations,
  type Route,
} from '../../src/protocol/operations.js'
import { unservedRoutes } from '../../src/protocol/unserved-routes.js'

export type Found =
  | {
      readonly kind: 'operation'
      readonly name: OperationName
      /** Segments that stand for `{placeholders}`, still percent-encoded. */
      readonly segments: Readonly<Record<string, string>>
    }
  /** A route of some client that no operation serves. */
  | { readonly kind: 'unserved' }
  | { readonly kind: 'wrong-method'; readonly allowed: readonly string[] }
  | { readonly kind: 'unknown' }

interface Template {
  readonly method: string
  readonly segments: readonly string[]
  /** Null for a route that no operation serves. */
  readonly operation: OperationName | null
}

/** Templates by their number of segments. */
const templates = new Map<number, Template[]>()

function addTemplate(route: Route, operation: OperationName | null): void {
  const [method, path] = route.split(' ') as [string, string]
  const segments = path.split('/')
  const alike = templates.get(segments.length) ?? []
  alike.push({ method, segments, operation })
  alike.sort((a, b) => placeholders(a) - placeholders(b))
  templates.set(segments.length, alike)
}

function placeholders(template: Template): number {
  return template.segments.filter(isPlaceholder).length
}

function isPlaceholder(segment: string): boolean {
  return segment.startsWith('{')
}

for (const [name, entry] of Object.entries(operations) as [OperationName, OperationEntry][]) {
  for (const route of entry.routes) addTemplate(route, name)
}
for (const route of unservedRoutes) addTemplate(route, null)

/** `path` without query, base path and trailing slash. Literal segments win over placeholders. */
export function findRoute(method: string, path: string): Found {
  const segments = path.split('/')
  const matching = (templates.get(segments.length) ?? []).filter(template => matches(template, segments))
  if (matching.length === 0) return { kind: 'unknown' }
  const found = matching.find(template => template.method === method)
  if (found === undefined) {
    return { kind: 'wrong-method', allowed: [...new Set(matching.map(template => template.method))] }
  }
  if (found.operation === null) return { kind: 'unserved' }
  return { kind: 'operation', name: found.operation, segments: filled(found, segments) }
}

function matches(template: Template, segments: readonly string[]): boolean {
  return template.segments.every((part, i) =>
    isPlaceholder(part) ? segments[i] !== '' : part === segments[i],
  )
}

function filled(template: Template, segments: readonly string[]): Record<string, string> {
  const values: Record<string, string> = {}
  template.segments.forEach((part, i) => {
    if (isPlaceholder(part)) values[part.slice(1, -1)] = segments[i]!
  })
  return values
}

/** Finds the operation for a path. The routes come from the table of operations. */
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
      /**
       * The segments of the path that are values of `{placeholders}`, by the name of the placeholder. They are still
       * percent-encoded.
       */
      readonly segments: Readonly<Record<string, string>>
      /** Whether the route is a `rowsRoute`: its query parameters are the request of the operation. */
      readonly isRows: boolean
    }
  /** The change feed of a table. Callers need the permission for `queryTable`. */
  | { readonly kind: 'changes'; readonly segments: Readonly<Record<string, string>> }
  /** A route that some clients use, but that this server does not support. */
  | { readonly kind: 'unserved' }
  | { readonly kind: 'wrong-method'; readonly allowed: readonly string[] }
  | { readonly kind: 'unknown' }

interface Template {
  readonly method: string
  readonly segments: readonly string[]
  /** The operation. Null for a route that this server does not support. */
  readonly operation: OperationName | null
  readonly serves: 'operation' | 'rows' | 'changes'
}

/**
 * Templates with the same number of segments. `byLast`: for each literal that is the last segment of a template, the
 * templates that may match a path with this last segment. `others`: the templates that end with a placeholder.
 */
interface TemplateGroup {
  readonly byLast: Map<string, readonly Template[]>
  readonly others: readonly Template[]
}

function templateOf(
  route: Route,
  operation: OperationName | null,
  serves: Template['serves'] = 'operation',
): Template {
  const [method, path] = route.split(' ') as [string, string]
  return { method, segments: path.split('/'), operation, serves }
}

function groupTemplates(templates: readonly Template[]): TemplateGroup {
  const sorted = templates.toSorted((a, b) => placeholders(a) - placeholders(b))
  const ending = (last: string) =>
    sorted.filter(({ segments }) => isPlaceholder(segments.at(-1)!) || segments.at(-1) === last)
  const literals = new Set(templates.map(({ segments }) => segments.at(-1)!))
  return { byLast: new Map([...literals].map(last => [last, ending(last)])), others: ending('') }
}

function placeholders(template: Template): number {
  return template.segments.filter(isPlaceholder).length
}

function isPlaceholder(segment: string): boolean {
  return segment.startsWith('{')
}

const templates = [
  ...(Object.entries(operations) as [OperationName, OperationEntry][]).flatMap(
    ([name, { routes, bytesRoute, rowsRoute, changesRoute }]) => [
      ...[...routes, ...(bytesRoute === undefined ? [] : [bytesRoute])].map(route => templateOf(route, name)),
      ...(rowsRoute === undefined ? [] : [templateOf(rowsRoute, name, 'rows')]),
      ...(changesRoute === undefined ? [] : changesTemplates(changesRoute, name)),
    ],
  ),
  ...unservedRoutes.map(route => templateOf(route, null)),
]

/** Return the templates of the change feed. A HEAD request asks whether a stream would begin. */
function changesTemplates(route: Route, name: OperationName): Template[] {
  const template = templateOf(route, name, 'changes')
  return [template, { ...template, method: 'HEAD' }]
}

/** The templates, grouped by their number of segments. */
const groups = new Map(
  [...new Set(templates.map(({ segments }) => segments.length))].map(length => [
    length,
    groupTemplates(templates.filter(({ segments }) => segments.length === length)),
  ]),
)

/**
 * Find the operation for a path. The path has no query, base path or trailing slash. Templates with fewer placeholders
 * take precedence.
 */
export function findRoute(method: string, path: string): Found {
  const segments = path.split('/')
  const { byLast, others } = groups.get(segments.length) ?? none
  const candidates = byLast.get(segments.at(-1)!) ?? others
  const matching = candidates.filter(template => matches(template, segments))
  if (matching.length === 0) return { kind: 'unknown' }
  const found = matching.find(template => template.method === method)
  if (found === undefined) {
    return { kind: 'wrong-method', allowed: [...new Set(matching.map(template => template.method))] }
  }
  if (found.operation === null) return { kind: 'unserved' }
  const { operation: name, serves } = found
  if (serves === 'changes') return { kind: 'changes', segments: filled(found, segments) }
  return { kind: 'operation', name, segments: filled(found, segments), isRows: serves === 'rows' }
}

const none: TemplateGroup = { byLast: new Map(), others: [] }

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

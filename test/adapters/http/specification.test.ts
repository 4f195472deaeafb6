/** The document of the Lance Namespace beside ours: what the one asks for, the other has. */
import { expect, test } from 'vitest'
import { openApi } from '../../../adapters/http/openapi.js'
import { type OperationEntry, type OperationName, operations } from '../../../src/protocol/operations.js'
import type { Shape } from '../../../src/protocol/shape.js'
import {
  type Document,
  fieldsOf,
  pascalCase,
  resolved,
  specification,
  withoutSpecification,
} from '../../support/openapi.js'

const ours: Document = openApi('')
const theirs: Document = specification

interface Described {
  readonly name: OperationName
  readonly method: string
  readonly path: string
  /** Of theirs. */
  readonly operation: Document
  readonly parameters: readonly Document[]
}

const described: Described[] = []
for (const [path, methods] of Object.entries<Document>(theirs?.paths ?? {})) {
  for (const method of ['get', 'post', 'put', 'delete']) {
    const operation = methods[method]
    if (operation === undefined) continue
    const { operationId } = operation
    const name = (operationId[0].toLowerCase() + operationId.slice(1)) as OperationName
    const parameters = [...(methods.parameters ?? []), ...(operation.parameters ?? [])]
    described.push({
      name,
      method,
      path,
      operation,
      parameters: parameters.map(each => resolved(theirs, each)),
    })
  }
}

test('both list the same operations', context => {
  context.skip(theirs === null, withoutSpecification)
  const specified = Object.entries(operations).filter(([, { origin }]) => origin === 'specification')
  expect(described.map(({ name }) => name).sort()).toEqual(specified.map(([name]) => name).sort())
  expect(described).toHaveLength(54)
})

/** Where we differ, and why; a difference that is gone must go from here too. */
const differences: Readonly<Record<string, string>> = {
  'batchCreateTableVersions has no parameter delimiter': 'its identifiers are lists of names, in the body',
  'batchCommitTables has no parameter delimiter': 'its identifiers are lists of names, in the body',
  'listAllTables takes no id': 'it asks for the tables of all namespaces',
  'queryTable does not need vector': 'a query may have a filter alone',
  'analyzeTableQueryPlan does not need vector': 'a query may have a filter alone',
  'createTableIndex does not need index_type': 'absent, it follows from the column and the memory there is',
  'createTableScalarIndex does not need index_type': 'absent, it follows from the column',
  'getTableTagVersion does not answer branch': 'there is one branch, which absence means',
  'createMaterializedView answers 200, not 201': 'creating anything else answers 200 too (A-165)',
  'createMaterializedView does not need kind': "LanceDB's clients send `query`, and no kind",
  'createMaterializedView does not need source_query': "LanceDB's clients send `query` in its place",
  'createMaterializedView does not need output_schema': 'Sheaf knows the schema of a query that it runs',
}

/** How the described operation differs from ours. */
function differencesOf(their: Described): string[] {
  const { name, method, path } = their
  const our = ours.paths[path]?.[method]
  if (our?.operationId.replace(/\d$/, '') !== name) return [`is not at ${method} ${path}`]
  return [...inParameters(their, our), ...inRequest(their, our), ...inReply(their, our)].map(
    difference => `${name} ${difference}`,
  )
}

function inParameters({ parameters }: Described, our: Document): string[] {
  return parameters.flatMap(({ name, in: place, required = false }) => {
    const same = our.parameters.find((each: Document) => each.name === name && each.in === place)
    if (same === undefined) return [`has no parameter ${name}`]
    return (same.required ?? false) === required ? [] : [`has parameter ${name}, required: ${!required}`]
  })
}

function inRequest({ name, parameters }: Described, our: Document): string[] {
  const { body, bare, request }: OperationEntry = operations[name]
  const model = fieldsOf(
    theirs,
    theirs.components.schemas[`${requestModels[name] ?? pascalCase(name)}Request`],
  )
  const json = fieldsOf(ours, ours.components.schemas[`${pascalCase(name)}Request`])
  // Beside Arrow data, and where a field is the whole body, the others travel as header fields or not at all.
  const elsewhere = body === 'arrow' || bare !== undefined ? Object.keys(request.fields) : []
  const known = [...json.names, ...namesOf(our.parameters), ...elsewhere]
  const needed = [...json.required, ...namesOf(our.parameters.filter(isRequired))]
  const theirNeeded = [...model.required, ...namesOf(parameters.filter(isRequired))]
  return [
    ...without(model.names, known).map(field => `takes no ${field}`),
    ...without(model.required, needed).map(field => `does not need ${field}`),
    ...without(needed, theirNeeded).map(field => `needs ${field}`),
  ]
}

/** Their models of requests that several operations share. */
const requestModels: Partial<Record<OperationName, string>> = {
  listAllTables: 'ListTables',
  createTableScalarIndex: 'CreateTableIndex',
}

/** Fields of fields that the model has and the shape does not, by path. A model that refers to itself is followed once. */
function unknownWithin(node: Document, shape: Shape, path: string, within: readonly string[] = []): string[] {
  const known = fieldShapes(shape)
  const reference: string = node?.$ref ?? ''
  if (known === null || within.includes(reference)) return []
  const { properties = {}, allOf = [] } = resolved(theirs, node) ?? {}
  const seen = reference === '' ? within : [...within, reference]
  return [
    ...(allOf as Document[]).flatMap(part => unknownWithin(part, shape, path, seen)),
    ...Object.entries<Document>(properties).flatMap(([name, property]) => {
      const inner = known.get(name)
      if (inner === undefined) return [`${path}${name}`]
      const { items } = resolved(theirs, property) ?? {}
      return unknownWithin(items ?? property, inner, `${path}${name}.`, seen)
    }),
  ]
}

/** The shapes of the fields of an object, or of the objects in a list; null where it has none of its own. */
function fieldShapes(shape: Shape): Map<string, Shape> | null {
  switch (shape.kind) {
    case 'object':
    case 'choice':
      return new Map(
        Object.entries(shape.fields).flatMap(([name, field]) =>
          [name, ...field.also].map(each => [each, field.shape] as const),
        ),
      )
    case 'array':
      return fieldShapes(shape.item)
    case 'accept':
    case 'nullable':
      return fieldShapes(shape.shape)
    case 'named':
      return fieldShapes(shape.shape())
    default:
      return null
  }
}

test('every field that the specification names for a request is declared', context => {
  context.skip(theirs === null, withoutSpecification)
  const unknown = described.flatMap(({ name }) => {
    const { body, bare, request }: OperationEntry = operations[name]
    // What travels beside Arrow data is in the parameters; the models of those tell of header fields too.
    if (body === 'arrow' || bare !== undefined) return []
    const model = theirs.components.schemas[`${requestModels[name] ?? pascalCase(name)}Request`]
    return unknownWithin(model, request, `${name} `)
  })
  expect(unknown).toEqual(['listAllTables id'])
})

function inReply({ name, operation }: Described, our: Document): string[] {
  const status = String(operations[name].status)
  const [expected] = Object.keys(operation.responses).filter(code => code.startsWith('2'))
  const reply = resolved(theirs, operation.responses[expected!]).content ?? {}
  const { content = {} } = our.responses[status]
  const model = fieldsOf(theirs, reply[json]?.schema)
  const answered = fieldsOf(ours, content[json]?.schema)
  return [
    ...(status === expected ? [] : [`answers ${status}, not ${expected}`]),
    ...without(Object.keys(reply), Object.keys(content)).map(kind => `answers no ${kind}`),
    // What their context holds travels as header fields.
    ...without(model.names, [...answered.names, 'context']).map(field => `does not answer ${field}`),
    ...without(model.required, answered.required).map(field => `may not answer ${field}`),
  ]
}

const json = 'application/json'

function namesOf(parameters: readonly Document[]): string[] {
  return parameters.map(({ name }) => name)
}

function isRequired({ required = false }: Document): boolean {
  return required
}

function without(names: readonly string[], known: readonly string[]): string[] {
  return names.filter(name => !known.includes(name))
}

test('paths, parameters, fields and statuses are equal, with listed exceptions', context => {
  context.skip(theirs === null, withoutSpecification)
  expect(described.flatMap(differencesOf).sort()).toEqual(Object.keys(differences).sort())
})

/** Builds the OpenAPI document from the table of operations. */
import { type OperationEntry, operationNames, operations, type Route } from '../../src/protocol/operations.js'
import type { Field, ObjectShape } from '../../src/protocol/shape.js'
import { changesParameters } from './changes-url.js'
import { type JsonSchema, JsonSchemas, referenceTo } from './json-schema.js'
import { arrowFile, arrowStream, csvText, eventStream, jsonLines, jsonText } from './media-types.js'
import { tableVersion } from './reply.js'
import { formats, rowsParameters } from './rows-url.js'

type Json = Readonly<Record<string, unknown>>

/** Return the OpenAPI document. `basePath`: the path before `/v1`, or an empty text. */
export function openApi(basePath: string): Json {
  described ??= describeAll()
  return { ...described, servers: [{ url: basePath === '' ? '/' : basePath }] }
}

let described: Json | undefined

const about = `Tables of Apache Arrow data in nested namespaces: the operations of the Lance Namespace specification, and further operations that clients of LanceDB use (tagged \`lancedb\`).

An identifier in a path is the names of the object, joined by a delimiter; the delimiter alone is the root. \`null\` means that an optional field is absent; so does an empty array or object, unless the field says otherwise. Values of enumerations may be written in any case, with or without underscores. Unknown fields and query parameters are refused with code 13. Exception: if a client may be newer than the server, operations that only describe or list objects skip its unknown names and log them. Header fields that begin with \`x-sheaf-ctx-\` are the context of a call. \`idempotency-key\` names a write, so that sending it again does not commit it again; a key that comes with another request or other rows is refused (422).

Every path may end in a slash. Then replies have the form that LanceDB's remote client reads: types have the names of Lance, tags are a bare map, and some errors have the status 400 instead of 404 or 409.`

function describeAll(): Json {
  const schemas = new JsonSchemas()
  const bodies: Record<string, JsonSchema> = {}
  const paths: Record<string, Json> = {}
  for (const name of operationNames) {
    const entry: OperationEntry = operations[name]
    const named = name[0]!.toUpperCase() + name.slice(1)
    const request = requestBody(entry, schemas)
    const reply = replyBody(entry, schemas)
    if (request !== null) bodies[`${named}Request`] = request
    if (reply !== null) bodies[`${named}Response`] = reply
    entry.routes.forEach((route, i) => {
      const [method, path] = route.split(' ') as [string, string]
      const described = {
        operationId: i === 0 ? name : `${name}${i + 1}`,
        summary: entry.doc,
        tags: [entry.origin === 'lancedb' ? 'lancedb' : path.split('/')[2]],
        parameters: parameters(entry, route, schemas),
        ...(method === 'POST' && requestPart(entry, request && referenceTo(`${named}Request`))),
        responses: {
          [entry.status]: response(entry, reply && referenceTo(`${named}Response`)),
          ...(entry.startsJob && { 202: response(entry, reply && referenceTo(`${named}Response`)) }),
          default: { $ref: '#/components/responses/Error' },
        },
      }
      paths[path] = { ...paths[path], [method.toLowerCase()]: described }
    })
    if (entry.bytesRoute !== undefined) {
      const [method, path] = entry.bytesRoute.split(' ') as [string, string]
      paths[path] = { [method.toLowerCase()]: bytesOperation(name, entry, entry.bytesRoute, schemas) }
    }
    if (entry.rowsRoute !== undefined) {
      const [method, path] = entry.rowsRoute.split(' ') as [string, string]
      paths[path] = { [method.toLowerCase()]: rowsOperation(name, entry, entry.rowsRoute, schemas) }
    }
    if (entry.changesRoute !== undefined) {
      const [, path] = entry.changesRoute.split(' ') as [string, string]
      paths[path] = changesOperations(entry, entry.changesRoute, schemas)
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Sheaf',
      version: '1',
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{}, { bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      schemas: { ...bodies, ...Object.fromEntries(schemas.named), Change: change, Error: error },
      responses: { Error: errorResponse },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
  }
}

function bytesOperation(name: string, entry: OperationEntry, route: Route, schemas: JsonSchemas): Json {
  const inPath = (name: string, description: string) => {
    return { name, in: 'path', required: true, description, schema: text }
  }
  const bytes = { content: { 'application/octet-stream': {} } }
  return {
    operationId: `${name}Bytes`,
    summary: 'Returns the bytes of one blob, or of the range in the header field `Range`.',
    tags: ['lancedb'],
    parameters: [
      ...parameters(entry, route, schemas),
      inPath('column', 'Blob column. For a field inside a struct: its path.'),
      inPath('row_id', 'Row id: a value of `_rowid`.'),
    ],
    responses: {
      200: { description: 'The whole blob.', ...bytes },
      204: { description: 'The blob is null.' },
      206: { description: 'The range. `Content-Range` has the size of the whole.', ...bytes },
      416: { description: 'The blob has no byte in the range. `Content-Range` has its size.' },
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

function rowsOperation(name: string, entry: OperationEntry, route: Route, schemas: JsonSchemas): Json {
  const inQuery = Object.entries(rowsParameters).map(([name, description]) => {
    const isNumber = name === 'limit' || name === 'offset' || name === 'version'
    const schema = isNumber
      ? { type: 'integer', minimum: 0 }
      : name === 'format'
        ? { ...text, enum: Object.keys(formats) }
        : text
    return { name, in: 'query', required: false, description, schema }
  })
  return {
    operationId: `${name}Rows`,
    summary: 'Returns rows of a table. The whole request is in the URL.',
    tags: ['lancedb'],
    parameters: [...parameters(entry, route, schemas), ...inQuery],
    responses: {
      200: rowsResponse({ ...textContent, [arrowStream]: {}, [arrowFile]: {} }),
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

function changesOperations(entry: OperationEntry, route: Route, schemas: JsonSchemas): Json {
  const { since, rows } = changesParameters
  const version = { type: 'integer', minimum: 0 }
  const optional = { required: false }
  const shared = {
    tags: ['lancedb'],
    parameters: [
      ...parameters(entry, route, schemas),
      { name: 'since', in: 'query', ...optional, description: since, schema: version },
      { name: 'rows', in: 'query', ...optional, description: rows, schema: { type: 'boolean' } },
      {
        name: 'Last-Event-ID',
        in: 'header',
        ...optional,
        description: 'The id of the last event that the client received. It has priority over `since`.',
        schema: version,
      },
    ],
  }
  const errors = { default: { $ref: '#/components/responses/Error' } }
  const description =
    'Server-sent events. `change`: a version; `data` is a Change. `error`: the reason why the stream ends; `data` is an Error with the `name` of its code. An event without `data` only sets the last event id.'
  return {
    get: {
      operationId: 'tableChanges',
      summary:
        'Streams each later version of a table with its numbers of changed rows, then waits for new versions.',
      ...shared,
      responses: {
        200: { description, content: { [eventStream]: { schema: text } } },
        ...errors,
      },
    },
    head: {
      operationId: 'tableChangesHead',
      summary: 'Returns whether the stream would begin.',
      ...shared,
      responses: { 200: { description: 'The stream would begin.' }, ...errors },
    },
  }
}

/** The content of a body with rows as text, by media type. */
const textContent: Json = {
  [jsonText]: {
    schema: {
      type: 'array',
      items: { type: 'object' },
      description: 'One object per row, with its columns.',
    },
  },
  ...Object.fromEntries([...jsonLines, csvText].map(type => [type, {}])),
}

// ---- requests

const text = { type: 'string' } as const

/** Return the parameters in the path and in the query of a route. */
function parameters(entry: OperationEntry, route: Route, schemas: JsonSchemas): Json[] {
  const found: Json[] = []
  for (const name of ['id', 'index_name']) {
    if (!route.includes(`{${name}}`)) continue
    const { doc } = entry.request.fields[name]!
    found.push({ name, in: 'path', required: true, description: doc, schema: text })
  }
  if (entry.target !== 'none') {
    const description = 'Delimiter between the names in `id`; default `$`.'
    found.push({ name: 'delimiter', in: 'query', description, schema: text })
  }
  for (const name of entry.query) {
    found.push(queryParameter(name, entry.request.fields[name]!, entry.body === 'arrow', schemas))
  }
  return found
}

/**
 * Describe a query parameter. `isAlone`: the operation has no JSON body. Otherwise the parameter is optional, because
 * the JSON body may have the same field.
 */
function queryParameter(name: string, field: Field, isAlone: boolean, schemas: JsonSchemas): Json {
  const { description, ...schema } = schemas.field(field)
  const content =
    schema.additionalProperties === undefined ? { schema } : { content: { 'application/json': { schema } } }
  return { name, in: 'query', required: isAlone && field.required, description, ...content }
}

/** Return the schema of the JSON body, or null if the operation takes no JSON body. */
function requestBody(entry: OperationEntry, schemas: JsonSchemas): JsonSchema | null {
  if (entry.body === 'arrow') return null
  if (entry.bare !== undefined) return schemas.field(entry.request.fields[entry.bare]!)
  return schemas.closed(entry.unknownNames === 'refused', () => schemas.object(entry.request, inPath))
}

const inPath = ['id', 'index_name']

function requestPart(entry: OperationEntry, json: JsonSchema | null): Json {
  if (entry.body === 'arrow') {
    const content = { [arrowStream]: {}, [arrowFile]: {}, ...textContent }
    const description =
      'Rows: Arrow IPC (stream or file), a JSON array, JSON lines, or CSV with a header row.'
    return { requestBody: { required: true, description, content } }
  }
  if (json === null) return {}
  const required = entry.bare !== undefined || needsBody(entry.request)
  const arrow = entry.takesSchema ? { [arrowStream]: {}, [arrowFile]: {} } : {}
  return { requestBody: { required, content: { 'application/json': { schema: json }, ...arrow } } }
}

function needsBody({ fields, rules }: ObjectShape): boolean {
  const needed = Object.keys(fields).some(name => fields[name]!.required && !inPath.includes(name))
  return needed || rules.exactlyOne !== undefined || rules.atLeastOne !== undefined
}

// ---- replies

/** Return the schema of the JSON reply, or null if the operation has no JSON reply. */
function replyBody(entry: OperationEntry, schemas: JsonSchemas): JsonSchema | null {
  const shape = entry.response
  if (shape === null) return null
  if (shape.kind !== 'object') return schemas.of(shape)
  if (entry.bare !== undefined) return schemas.field(shape.fields[entry.bare]!)
  return schemas.object(shape, [])
}

function response({ reply, rowsAsText }: OperationEntry, json: JsonSchema | null): Json {
  switch (reply) {
    case 'empty':
      return { description: 'Success. The reply has no body.' }
    case 'arrow':
      return rowsResponse({ [arrowFile]: {}, [arrowStream]: {}, ...(rowsAsText && textContent) })
    default:
      return { description: 'Success.', content: { 'application/json': { schema: json } } }
  }
}

function rowsResponse(content: Json): Json {
  const description = 'Version of the table that was read.'
  return {
    description: 'Rows, in the form that `Accept` prefers.',
    headers: { [tableVersion]: { description, schema: { type: 'integer', minimum: 0 } } },
    content,
  }
}

/** The data of an event `change`. */
const change: JsonSchema = {
  type: 'object',
  properties: {
    version: { type: 'integer', minimum: 1, description: 'The version.' },
    previous: {
      type: 'integer',
      minimum: 0,
      description: 'The version that `version` is compared with. 0: the table before its first version.',
    },
    timestamp: { ...text, description: 'Time of the commit (ISO 8601, UTC).' },
    operation: { ...text, description: 'The operation that created the version.' },
    added: { type: 'integer', minimum: 0, description: 'Number of rows that only `version` has.' },
    removed: { type: 'integer', minimum: 0, description: 'Number of rows that only `previous` has.' },
    changed: { type: 'integer', minimum: 0, description: 'Number of rows with other values.' },
    rows: {
      type: ['object', 'null'],
      description: 'With `rows=true`: the rows, with `_rowid`. Null if they exceed the limit of an event.',
      properties: {
        added: { type: 'array', items: { type: 'object' } },
        removed: { type: 'array', items: { type: 'object' } },
        changed: {
          type: 'array',
          items: {
            type: 'object',
            properties: { before: { type: 'object' }, after: { type: 'object' } },
            required: ['before', 'after'],
          },
        },
      },
      required: ['added', 'removed', 'changed'],
    },
    rows_omitted: { ...text, description: 'Why `rows` is null.' },
  },
  required: ['version', 'previous', 'timestamp', 'operation', 'added', 'removed', 'changed'],
}

const error: JsonSchema = {
  type: 'object',
  properties: {
    type: { ...text, description: 'The kind of error: `/errors/...`.' },
    title: { ...text, description: 'The kind of error, for people.' },
    status: { type: 'integer', description: 'The status of the reply.' },
    detail: { ...text, description: 'The problem, and how to fix it.' },
    instance: { ...text, description: 'The path of the request.' },
    code: {
      type: 'integer',
      minimum: 0,
      description: 'The error code of the Lance Namespace specification.',
    },
    error: { ...text, description: 'The problem.' },
    hint: { ...text, description: 'How to fix it.' },
    at: {
      type: 'object',
      description: 'The position of the problem in the SQL text. Offset and length count UTF-16 units.',
      properties: { offset: { type: 'integer' }, length: { type: 'integer' } },
      required: ['offset', 'length'],
    },
    transaction_id: { ...text, description: 'The id of the commit that the error is about.' },
    docs: { ...text, description: 'The place in the npm package that describes the code.' },
  },
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'error', 'docs'],
}

const errorResponse: Json = {
  description: 'The error. Some clients read `code`, others read `type`.',
  content: { 'application/json': { schema: referenceTo('Error') } },
}

/** The exports of `sheaf/protocol`: the wire protocol as data, for adapters, and for programs that call an adapter. */
export {
  type ArrowBody,
  type ArrowOperationName,
  type ArrowReply,
  bindHandlers,
  type CallOptions,
  type Handler,
  type Handlers,
  type OperationOptions,
  type Operations,
  type Reply,
  type Request,
} from './calls.js'
export { type ErrorBody, errorBody, errorFrom } from './errors-wire.js'
export {
  agreeOnId,
  canonicalId,
  checkIndexName,
  checkName,
  checkTagName,
  decodeSegment,
  defaultDelimiter,
  delimiterFor,
  encodeSegment,
  formatId,
  parseId,
} from './identifiers.js'
export { readJson } from './json.js'
export {
  detectNamingScheme,
  type ManifestName,
  manifestName,
  type NamingScheme,
  parseManifestName,
} from './manifest-name.js'
export {
  type OperationEntry,
  type OperationName,
  operationNames,
  operations,
  type ReplyKind,
  type Route,
} from './operations.js'
export {
  type Listing,
  namespaceNames,
  type Page,
  type PageRequest,
  paginate,
  tableNames,
  tagNames,
} from './page.js'
export { type Parameters, type ParameterValue, readParameters, writeParameters } from './parameters.js'
export { parse, parseKnown } from './parse.js'
export type { Identity } from './request-fields.js'
export type { Field, Fields, Infer, ObjectRules, ObjectShape, Shape, VectorValues } from './shape.js'
export { unservedRoutes } from './unserved-routes.js'
export { readReply, readRequest, type WireParts, type WireRequest, writeReply, writeRequest } from './wire.js'

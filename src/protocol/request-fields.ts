/** Fields that many requests share. */
import { invalidInput, unsupported } from '../errors.js'
import { canonicalId, checkName } from './identifiers.js'
import {
  accept,
  array,
  container,
  type Infer,
  integer,
  object,
  optional,
  record,
  required,
  type Shape,
  saturatingInteger,
  string,
} from './shape.js'

export const identity = object({
  api_key: optional(string(), 'API key; over HTTP the header `x-api-key`, which takes precedence.'),
  auth_token: optional(
    string(),
    'Bearer token; over HTTP the header `Authorization`, which takes precedence.',
  ),
})
export type Identity = Infer<typeof identity>

/** Strings by name. All names and values together have at most 64 KiB. */
export const stringMap = record(string())

export const caller = {
  identity: optional(identity, 'Credentials of the caller.'),
  context: optional(stringMap, 'Data for hooks, which receive it unchanged. It never changes a result.'),
}

/** Return the shape of an identifier with at least `min` names. Empty names are removed, like in paths. */
function idOf(min: number, check?: (text: string, where: string) => void): Shape<readonly string[]> {
  return accept(array(string('any', check), { min }), '', value =>
    Array.isArray(value) && value.every(name => typeof name === 'string') ? canonicalId(value) : value,
  )
}

export const namespaceId = idOf(0)
export const tableId = idOf(1)
/** Maximum names in the path of a new object. */
const depthMax = 64

export const newId = accept(idOf(1, checkName), '', value => {
  if (!Array.isArray(value) || canonicalId(value).length <= depthMax) return value
  throw invalidInput(`id has ${value.length} names, more than the limit of ${depthMax}`)
})

/** Shape of a branch name. Branches are not supported, so every name except `main` throws Unsupported (status 406). */
const branch = string('any', (name, where) => {
  if (name !== 'main')
    throw unsupported(`${where} is ${JSON.stringify(name)}, but only the branch "main" exists`)
})

export const version = integer(0)

export const onNamespace = {
  ...caller,
  id: required(namespaceId, 'Path of the namespace; `[]` is the root.'),
}

export const onTable = {
  ...caller,
  id: required(tableId, 'Path of the table: the names of its namespaces, then the name of the table.'),
}

export const onBranch = { branch: optional(branch, 'Name of the branch; only `main` is supported.') }

export const atVersion = { version: optional(version, 'Version to read; absent: the latest.') }

/** Parameters of SQL, so that callers need not write values into SQL. An extension of the specification. */
export const sqlParameters = {
  parameters: optional(
    container,
    'Values of the SQL parameters: an array for `?` and `$1`, an object for `:name`.',
  ),
}

export const paging = {
  page_token: optional(string(), 'Token of the previous page; absent or empty: the first page.'),
  limit: optional(
    saturatingInteger(1, 10_000),
    'Maximum items per page, 1 to 10,000; a larger number means 10,000; absent: all items.',
  ),
}

export const nextPage = {
  page_token: optional(string(), 'Token of the next page; absent: this is the last page.'),
}

/** UUID in replies, by which a handle refers to the same table after a rename. An extension of the specification. */
export const tableUuid = {
  uuid: optional(
    string(),
    'UUID of the table. A rename does not change it, and no other table ever has the same UUID.',
  ),
}

export const transaction = {
  transaction_id: optional(string(), 'Id of the commit, for describeTransaction.'),
}

export const transactionReply = object(transaction)

export const commitVersion = { version: required(version, 'Version that this call committed.') }

export const versionReply = object({ ...commitVersion, ...transaction })

export const properties = { properties: optional(stringMap, 'Properties by name; at most 64 KiB in all.') }

/** A request with a table and no other fields. */
export const tableRequest = object({ ...onTable, ...onBranch })

/** The shapes of versions, tags and branches of a table, and of commits over several tables. */
import { checkTagName } from './identifiers.js'
import { type NamingScheme, namingScheme, schemeContradiction } from './manifest-name.js'
import {
  atVersion,
  caller,
  newId,
  nextPage,
  onBranch,
  onTable,
  paging,
  properties,
  stringMap,
  tableId,
  transaction,
  version,
} from './request-fields.js'
import {
  array,
  boolean,
  choice,
  type Infer,
  integer,
  object,
  optional,
  record,
  required,
  string,
  withoutEffect,
} from './shape.js'
import { completeUploadReply, completeUploadRequest } from './upload-shapes.js'

const versionRecord = object({
  version: required(version, 'Number of the version.'),
  manifest_path: required(string(), 'Path of the manifest of the version.'),
  manifest_size: optional(integer(0), 'Bytes of the manifest.'),
  e_tag: optional(string(), 'ETag of the manifest.'),
  timestamp_millis: required(integer(0), 'Time of the commit, milliseconds since 1970.'),
  metadata: optional(stringMap, 'Metadata that was given when the version was created.'),
})

// ---- one version

const newVersion = {
  ...onTable,
  ...onBranch,
  version: required(version, 'Number of the new version.'),
  manifest_path: required(
    string('nonEmpty'),
    'Path of the manifest, or of a staging file with the manifest.',
  ),
  manifest_size: optional(integer(0), 'Bytes of the manifest.'),
  e_tag: optional(string(), 'ETag of the manifest.'),
  metadata: optional(stringMap, 'Metadata to store with the version.'),
  naming_scheme: optional(namingScheme, 'Naming scheme of manifests; absent: the scheme of manifest_path.'),
}

const namingRules = {
  check: (request: Readonly<Record<string, unknown>>) =>
    schemeContradiction(String(request.manifest_path), request.naming_scheme as NamingScheme | undefined),
}

export const createVersionRequest = object(newVersion, namingRules)
export type CreateVersionRequest = Infer<typeof createVersionRequest>

export const createVersionReply = object({
  version: required(versionRecord, 'The new version.'),
  ...transaction,
})

export const describeVersionRequest = object({ ...onTable, ...onBranch, ...atVersion })

export const describeVersionReply = object({ version: required(versionRecord, 'The version.') })

export const listVersionsRequest = object({
  ...onTable,
  ...onBranch,
  ...paging,
  descending: optional(boolean, 'Whether the newest version comes first; default false.'),
})

export const listVersionsReply = object({
  versions: required(array(versionRecord), 'Versions of the table.'),
  ...nextPage,
})

const versionRange = object(
  {
    start_version: required(version, 'First version of the range.'),
    end_version: required(
      integer(-1),
      'Version after the last version of the range; -1: up to the latest version.',
    ),
  },
  {
    check: range =>
      range.end_version === -1 || Number(range.end_version) >= Number(range.start_version)
        ? undefined
        : `ends at ${range.end_version}, before its start at ${range.start_version}`,
  },
)

const deletedVersions = {
  ...onTable,
  ...onBranch,
  ranges: required(array(versionRange, { min: 1 }), 'Ranges of versions.'),
}

export const deleteVersionsRequest = object(deletedVersions)

export const deleteVersionsReply = object({
  deleted_count: required(integer(0), 'Number of removed version records.'),
  ...transaction,
})

export const restoreRequest = object({
  ...onTable,
  ...onBranch,
  version: required(version, 'Version whose rows and schema become a new version.'),
})

// ---- declare and deregister

export const declareRequest = object({
  ...caller,
  id: required(newId, 'Path of the new table; its namespace must exist.'),
  location: optional(
    string('nonEmpty'),
    'Location of the future data; absent: the engine chooses a location.',
  ),
  vend_credentials: withoutEffect(
    boolean,
    'Whether to return credentials for the location. Without effect: the location needs no credentials.',
  ),
  ...properties,
})

export const declareReply = object({
  location: required(string(), 'Location of the future data.'),
  storage_options: optional(stringMap, 'Options for opening the location.'),
  ...properties,
  managed_versioning: required(boolean, 'Whether versions are created through this service; always true.'),
  ...transaction,
})

export const deregisterRequest = object(onTable)

export const deregisterReply = object({
  id: required(tableId, 'Former path of the table.'),
  location: required(string(), 'Location of the table data, which is not deleted.'),
  ...properties,
  ...transaction,
})

// ---- several tables

const kinds = {
  declare_table: ['DeclareTable'],
  create_table_version: ['CreateTableVersion'],
  delete_table_versions: ['DeleteTableVersions'],
  deregister_table: ['DeregisterTable'],
  complete_upload: ['CompleteUpload'],
} as const

export const batchCreateVersionsRequest = object({
  ...caller,
  entries: required(array(createVersionRequest, { min: 1 }), 'Versions to create, either all or none.'),
})

export const batchCreateVersionsReply = object({
  versions: required(array(versionRecord), 'The new versions, in the order of the entries.'),
  ...transaction,
})

const batchOperation = choice({
  declare_table: required(declareRequest, 'Declares a table.', kinds.declare_table),
  create_table_version: required(createVersionRequest, 'Creates a version.', kinds.create_table_version),
  delete_table_versions: required(deleteVersionsRequest, 'Removes versions.', kinds.delete_table_versions),
  deregister_table: required(
    deregisterRequest,
    'Removes a table from the catalog and keeps its data.',
    kinds.deregister_table,
  ),
  complete_upload: required(
    completeUploadRequest,
    'Makes the rows of an upload in parts visible.',
    kinds.complete_upload,
  ),
})
export type BatchOperation = Infer<typeof batchOperation>

const batchResult = choice({
  declare_table: required(declareReply, 'Result of `declare_table`.'),
  create_table_version: required(createVersionReply, 'Result of `create_table_version`.'),
  delete_table_versions: required(deleteVersionsReply, 'Result of `delete_table_versions`.'),
  deregister_table: required(deregisterReply, 'Result of `deregister_table`.'),
  complete_upload: required(completeUploadReply, 'Result of `complete_upload`.'),
})
export type BatchResult = Infer<typeof batchResult>

export const batchCommitRequest = object({
  ...caller,
  operations: required(
    array(batchOperation, { min: 1 }),
    'Operations to apply, either all or none. Later operations see the results of earlier ones.',
  ),
})

export const batchCommitReply = object({
  results: required(array(batchResult), 'Results, one per operation, in the order of the operations.'),
  ...transaction,
})

// ---- tags

const tagName = string('nonEmpty')

export const createTagRequest = object({
  ...onTable,
  ...onBranch,
  tag: required(string('nonEmpty', checkTagName), 'Name of the new tag.'),
  version: required(version, 'Version to which the tag points.'),
})

export const updateTagRequest = object({
  ...onTable,
  ...onBranch,
  tag: required(tagName, 'Name of the tag.'),
  version: required(version, 'New version of the tag.'),
})

export const tagRequest = object({ ...onTable, tag: required(tagName, 'Name of the tag.') })

export const tagVersionReply = object({ version: required(version, 'Version to which the tag points.') })

export const listTagsRequest = object({ ...onTable, ...onBranch, ...paging })

export const listTagsReply = object({
  tags: required(
    record(
      object({
        ...tagVersionReply.fields,
        manifestSize: required(integer(0), 'Bytes of the manifest of this version.'),
      }),
      Number.POSITIVE_INFINITY,
    ),
    'Tags by name.',
  ),
  directory_tags: optional(record(tagVersionReply, Number.POSITIVE_INFINITY), 'In LanceDB.'),
  ...nextPage,
})

// ---- branches: they are in the protocol, but the engine does not support them

const branchName = { name: required(string('nonEmpty'), 'Name of the branch.') }

export const createBranchRequest = object({
  ...onTable,
  ...branchName,
  from_branch: optional(string('nonEmpty'), 'Branch from which the new branch starts; absent: main.'),
  from_version: optional(version, 'Version from which the new branch starts; absent: the latest.'),
})

export const branchRequest = object({ ...onTable, ...branchName })

export const listBranchesRequest = object({ ...onTable, ...paging })

export const listBranchesReply = object({
  branches: required(
    record(
      object({
        parentBranch: optional(string(), 'Branch from which this branch started; absent: main.'),
        parentVersion: required(version, 'Version from which this branch started.'),
        createAt: required(integer(0), 'Time when the branch was created, seconds since 1970.'),
        manifestSize: required(integer(0), 'Bytes of the manifest of the branch.'),
        metadata: optional(stringMap, 'Metadata of the branch.'),
      }),
    ),
    'Branches by name.',
  ),
  ...nextPage,
})

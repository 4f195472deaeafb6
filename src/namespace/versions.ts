/** Handlers of the operations that read versions. */
import { findTable, versionOf } from '../catalog/lookup.js'
import type { TableHead } from '../catalog/state.js'
import { newestFirst, type VersionRecord } from '../manifest/version.js'
import type { Handler, Reply } from '../protocol/calls.js'
import { manifestName } from '../protocol/manifest-name.js'
import { type Listing, paginate } from '../protocol/page.js'
import { type Engine, locationOf } from './engine.js'

export const listTableVersions: Handler<Engine, 'listTableVersions'> = async (
  engine,
  request,
  { signal },
) => {
  const head = findTable(await engine.committer.refresh(signal), request.id)
  const records = [...newestFirst(head.latest)]
  const descending = request.descending ?? false
  if (!descending) records.reverse()
  const listing: Listing<VersionRecord> = { name: 'versions', key: record => record.version, descending }
  const { items, ...next } = paginate(records, listing, request)
  return { versions: items.map(record => describeRecord(engine, head, record)), ...next }
}

export const describeTableVersion: Handler<Engine, 'describeTableVersion'> = async (
  engine,
  request,
  { signal },
) => {
  const head = findTable(await engine.committer.refresh(signal), request.id)
  return { version: describeRecord(engine, head, versionOf(head, request.version)) }
}

/** The manifest path of a version is computed: the log is the truth, the file a cache that may be written later. */
function describeRecord(
  engine: Engine,
  head: TableHead,
  record: VersionRecord,
): Reply<'describeTableVersion'>['version'] {
  return {
    version: record.version,
    manifest_path: `${locationOf(engine, head)}/_versions/${manifestName(record.version, 'V2')}`,
    timestamp_millis: record.ts,
    metadata: { operation: record.kind },
  }
}

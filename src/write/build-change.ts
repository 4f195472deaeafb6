/** Turns staged rows into a Change: gives every fragment and row its number on the state the entry will follow. */
import { latestOf, type TableHead } from '../catalog/state.js'
import type { AddedDead, AddedFragment, Change, ChangeKind, ZoneRecords } from '../manifest/change.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { Draft } from './stage.js'

export interface ChangeParts {
  readonly kind: ChangeKind
  readonly drafts: readonly Draft[]
  readonly restore?: Change['restore']
  /** The fields the drafts hold, in order. */
  readonly fields: readonly number[]
  readonly drop?: readonly number[]
  /** Row offsets that die, by fragment. */
  readonly dead?: ReadonlyMap<number, Uint32Array>
  /** A new schema, with the field counter after it. */
  readonly schema?: { readonly schema: TableSchema; readonly nextField: number }
}

/** `firstBlob`: the number the first of `blobs` will have in the slot. */
export function buildChange(
  head: TableHead,
  parts: ChangeParts,
  firstBlob: number,
): { readonly change: Change; readonly blobs: readonly Uint8Array[] } {
  const blobs: Uint8Array[] = []
  const store = (bytes: Uint8Array) => firstBlob + blobs.push(bytes) - 1
  let { row, frag } = head.next
  const add = parts.drafts.map(({ rows, content, zones }): AddedFragment => {
    const { fields } = parts
    const file =
      'blob' in content
        ? { blob: store(content.blob), bytes: content.blob.length, fields }
        : { ...content, fields }
    const fragment = {
      id: frag++,
      rows,
      ids: { row0: row },
      files: [file],
      ...(zones.size > 0 && { zones: zonesByField(zones, fields) }),
    }
    row += rows
    return fragment
  })
  const dead = [...(parts.dead ?? [])].map(([fragment, offsets]): AddedDead => {
    const bytes = new Uint8Array(offsets.buffer, offsets.byteOffset, offsets.byteLength)
    return [fragment, { blob: store(bytes) }, offsets.length]
  })
  const change: Change = {
    op: 'change',
    t: head.uuid,
    v: head.mark + 1,
    base: latestOf(head) ?? 0,
    start: head.start,
    kind: parts.kind,
    ...(parts.restore !== undefined && { restore: parts.restore }),
    add,
    dead,
    drop: parts.drop ?? [],
    schema: parts.schema?.schema ?? null,
    next: { row, frag, field: parts.schema?.nextField ?? head.next.field },
  }
  return { change, blobs }
}

/** Zones by column as zones by field id. */
function zonesByField(zones: Draft['zones'], fields: readonly number[]): ZoneRecords {
  return Object.fromEntries([...zones].map(([column, zone]) => [fields[column]!, zone]))
}

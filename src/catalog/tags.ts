/** Decides what a change of tags means. A tag always names a version that exists. */
import { ErrorCode, quote, SheafError } from '../errors.js'
import { idText } from '../protocol/identifiers.js'
import { tagOf, versionOf } from './lookup.js'
import type { TagOp } from './ops.js'
import type { TableHead } from './state.js'

/** Throws code 9 when the tag exists, code 11 when the version does not. */
export function decideCreateTag(head: TableHead, name: string, version: number): TagOp {
  if (head.tags.has(name)) {
    throw new SheafError(
      ErrorCode.TagAlreadyExists,
      `table ${idText(head.id)} has a tag ${quote(name)} already`,
      { hint: 'update the tag to move it' },
    )
  }
  return { op: 'tag', t: head.uuid, name, v: versionOf(head, version) }
}

/** Throws code 8 when there is no such tag, code 11 when there is no such version. */
export function decideUpdateTag(head: TableHead, name: string, version: number): TagOp {
  tagOf(head, name)
  return { op: 'tag', t: head.uuid, name, v: versionOf(head, version) }
}

export function decideDeleteTag(head: TableHead, name: string): TagOp {
  tagOf(head, name)
  return { op: 'tag', t: head.uuid, name, v: null }
}

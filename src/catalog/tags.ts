/** Computes the operations that change tags. A tag always refers to an existing version. */
import { ErrorCode, quote, SheafError } from '../errors.js'
import { idText } from '../protocol/identifiers.js'
import { tagOf, versionOf } from './lookup.js'
import type { TagOp } from './ops.js'
import type { TableHead } from './state.js'

/**
 * Return the operation that creates a tag. Throws TagAlreadyExists, and TableVersionNotFound if the version does not
 * exist.
 */
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

/**
 * Return the operation that moves a tag to another version. Throws TagNotFound, and TableVersionNotFound if the version
 * does not exist.
 */
export function decideUpdateTag(head: TableHead, name: string, version: number): TagOp {
  tagOf(head, name)
  return { op: 'tag', t: head.uuid, name, v: versionOf(head, version) }
}

/** Return the operation that deletes a tag. Throws TagNotFound. */
export function decideDeleteTag(head: TableHead, name: string): TagOp {
  tagOf(head, name)
  return { op: 'tag', t: head.uuid, name, v: null }
}

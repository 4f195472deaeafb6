/** Writes the manifest of the first version of a Lance table, and its transaction (https://lance.org/format/table). */
import { lanceMagic } from './lance-file.js'
import type { LanceSchema } from './lance-schema.js'
import { MessageWriter } from './message-writer.js'

/** A data file with rows of the table. */
export interface DataFile {
  /** The name in the folder `data`. */
  readonly name: string
  readonly rows: number
  readonly bytes: number
}

/** The path of the manifest of version 1: newer versions sort first. */
export const manifestPath = `_versions/${2n ** 64n - 1n - 1n}.manifest`

/** The path of the transaction of a table that did not exist before. */
export function transactionPath(uuid: string): string {
  return `_transactions/${transactionName(uuid)}`
}

function transactionName(uuid: string): string {
  return `0-${uuid}.txn`
}

/** Return the message `Transaction`: the table is created. */
export function encodeTransaction(schema: LanceSchema, files: readonly DataFile[], uuid: string): Uint8Array {
  const overwrite = new MessageWriter()
  for (const fragment of fragments(schema, files)) overwrite.message(1, fragment)
  for (const field of schema.fields) overwrite.message(2, field)
  overwrite.entries(3, schema.metadata)
  return new MessageWriter().text(2, uuid).message(102, overwrite).finish()
}

/** Return the file with the message `Manifest`. `now`: milliseconds since 1970. */
export function encodeManifest(
  schema: LanceSchema,
  files: readonly DataFile[],
  uuid: string,
  now: number,
): Uint8Array {
  const manifest = new MessageWriter()
  for (const field of schema.fields) manifest.message(1, field)
  for (const fragment of fragments(schema, files)) manifest.message(2, fragment)
  manifest.number(3, 1).entries(5, schema.metadata)
  const seconds = Math.floor(now / 1000)
  const nanoseconds = Math.floor((now - seconds * 1000) * 1e6)
  manifest.message(7, new MessageWriter().number(1, seconds).number(2, nanoseconds))
  // The highest number of a fragment is optional, so 0 is written, too.
  if (files.length > 0) manifest.present(11, files.length - 1)
  manifest.text(12, transactionName(uuid))
  manifest.message(13, new MessageWriter().text(1, 'sheaf').text(2, '0.1.0'))
  manifest.message(15, new MessageWriter().text(1, 'lance').text(2, schema.version))
  const message = manifest.finish()
  const bytes = new Uint8Array(4 + message.length + 16)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, message.length, true)
  bytes.set(message, 4)
  // The end: the position of the message, the version 0.2 of manifests, and the magic bytes.
  view.setUint16(4 + message.length + 10, 2, true)
  bytes.set(lanceMagic, 4 + message.length + 12)
  return bytes
}

function fragments(schema: LanceSchema, files: readonly DataFile[]): MessageWriter[] {
  return files.map(({ name, rows, bytes }, id) => {
    const file = new MessageWriter()
      .text(1, name)
      .numbers(
        2,
        schema.leaves.map(leaf => leaf.id),
      )
      .numbers(
        3,
        schema.leaves.map((_, column) => column),
      )
      .number(4, 2)
      .number(5, schema.version === '2.1' ? 1 : 2)
      .number(6, bytes)
    return new MessageWriter().number(1, id).message(2, file).number(4, rows)
  })
}

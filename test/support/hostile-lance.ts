/** Writes Lance files and manifests with any content, also content that no writer would write. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MessageWriter } from '../../adapters/files/lance/message-writer.js'

const message = () => new MessageWriter()

/** A field of a schema. */
export function lanceField(id: number, name: string, logicalType: string, parent = -1): MessageWriter {
  return message().text(2, name).present(3, id).number(4, parent).text(5, logicalType).bool(6, true)
}

/** The entry of a data file in a fragment: the fields with the ids `fields` are its first columns. */
export function lanceDataFile(path: string, fields: readonly number[]): MessageWriter {
  const columns = fields.map((_, i) => i)
  return message().text(1, path).numbers(2, fields).numbers(3, columns).number(4, 2).number(5, 2)
}

export interface HostileFragment {
  readonly id: number
  readonly rows: number
  readonly files: readonly MessageWriter[]
  readonly deletions?: MessageWriter
}

export interface HostileManifest {
  readonly fields: readonly MessageWriter[]
  readonly fragments: readonly HostileFragment[]
  readonly seconds?: number
}

/** The bytes of the manifest of version 1. */
export function lanceManifest({ fields, fragments, seconds = 0 }: HostileManifest): Uint8Array {
  const manifest = message()
  for (const field of fields) manifest.message(1, field)
  for (const { id, rows, files, deletions } of fragments) {
    const fragment = message().number(1, id)
    for (const file of files) fragment.message(2, file)
    if (deletions !== undefined) fragment.message(3, deletions)
    manifest.message(2, fragment.number(4, rows))
  }
  manifest.number(3, 1).message(7, message().number(1, seconds))
  return ended(manifest.finish())
}

/** Return the bytes of a manifest with a message. */
export function ended(content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4 + content.length + 16)
  new DataView(bytes.buffer).setUint32(0, content.length, true)
  bytes.set(content, 4)
  bytes.set(new TextEncoder().encode('LANC'), bytes.length - 4)
  return bytes
}

/** Bytes of a page, or a place in the file. */
export type HostileBuffer = Uint8Array | { readonly start: number; readonly size: number }

export interface HostilePage {
  readonly rows: number
  readonly buffers: readonly HostileBuffer[]
  readonly layout: MessageWriter
}

/** A file of version 2.2 with the pages of one column. */
export function lanceFile(field: MessageWriter, rows: number, pages: readonly HostilePage[]): Uint8Array {
  const parts: Uint8Array[] = []
  let at = 0
  const put = (bytes: Uint8Array): number => {
    parts.push(bytes)
    at += bytes.length
    return at - bytes.length
  }
  const column = message()
  for (const { rows: pageRows, buffers, layout } of pages) {
    const places = buffers.map(buffer =>
      buffer instanceof Uint8Array ? { start: put(buffer), size: buffer.length } : buffer,
    )
    const any = message().text(1, '/lance.encodings21.PageLayout').message(2, layout)
    column.message(
      2,
      message()
        .numbers(
          1,
          places.map(place => place.start),
        )
        .numbers(
          2,
          places.map(place => place.size),
        )
        .number(3, pageRows)
        .message(4, message().message(2, message().message(1, any))),
    )
  }
  const descriptor = message().message(1, message().message(1, field)).number(2, rows).finish()
  const columnBytes = column.finish()
  const [descriptorAt, columnAt] = [put(descriptor), put(columnBytes)]
  const columnTable = put(numbers64(columnAt, columnBytes.length))
  const bufferTable = put(numbers64(descriptorAt, descriptor.length))
  const footer = new Uint8Array(40)
  footer.set(numbers64(columnAt, columnTable, bufferTable))
  const view = new DataView(footer.buffer)
  view.setUint32(24, 1, true)
  view.setUint32(28, 1, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 2, true)
  footer.set(new TextEncoder().encode('LANC'), 36)
  put(footer)
  return new Uint8Array(Buffer.concat(parts))
}

function numbers64(...numbers: readonly number[]): Uint8Array {
  return new Uint8Array(BigUint64Array.from(numbers, BigInt).buffer)
}

/** Write the table `t` into the folder `root`. `files`: more files in the folder of the table, by path. */
export function writeHostileTable(
  root: string,
  manifest: Uint8Array,
  files: Readonly<Record<string, Uint8Array | string>> = {},
): void {
  const all = { '_versions/18446744073709551614.manifest': manifest, ...files }
  for (const [path, bytes] of Object.entries(all)) {
    mkdirSync(join(root, 't.lance', path, '..'), { recursive: true })
    writeFileSync(join(root, 't.lance', path), bytes)
  }
}

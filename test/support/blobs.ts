/** Rows with blob columns, as LanceDB's clients send them. */
import {
  Field,
  Int32,
  LargeBinary,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Uint64,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'

/** What a blob is: its bytes, the URI where it lies, or null. */
export type SampleBlob = Uint8Array | string | null

/** An Arrow IPC stream with the columns `id`, from 1 on, and `image`, of blobs of the second version. */
export function blobRows(blobs: readonly SampleBlob[]): Uint8Array {
  const image = new Struct([
    new Field('data', new LargeBinary(), true),
    new Field('uri', new Utf8(), true),
    new Field('position', new Uint64(), true),
    new Field('size', new Uint64(), true),
  ])
  const values = blobs.map(blob => {
    if (blob === null) return null
    const isText = typeof blob === 'string'
    return { data: isText ? null : blob, uri: isText ? blob : null, position: null, size: null }
  })
  const metadata = new Map([['ARROW:extension:name', 'lance.blob.v2']])
  const schema = new Schema([new Field('id', new Int32(), false), new Field('image', image, true, metadata)])
  const ids = blobs.map((_, i) => i + 1)
  const columns = { id: vectorFromArray(ids, new Int32()), image: vectorFromArray(values, image) }
  return tableToIPC(new Table(schema, columns), 'stream')
}

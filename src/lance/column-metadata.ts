/** Reads the metadata of a column of a Lance file (`ColumnMetadata` of file2.proto). */
import { invalidInput, unsupported } from '../errors.js'
import type { ByteRange } from './page.js'
import { MessageReader } from './protobuf.js'

/** A page of a column. */
export interface PageMetadata {
  /** Number of rows. */
  readonly rows: number
  readonly buffers: readonly ByteRange[]
  /** The name of the message that describes the values, for example `lance.encodings21.PageLayout`. */
  readonly encodingType: string
  /** The bytes of this message. */
  readonly encoding: Uint8Array
}

/** The pages of a column, in the order of rows. */
export interface ColumnMetadata {
  readonly pages: readonly PageMetadata[]
  readonly buffers: readonly ByteRange[]
  /** The bytes of the message that describes the column. */
  readonly encoding: Uint8Array
}

/** Read the message `ColumnMetadata`. */
export function readColumnMetadata(message: MessageReader): ColumnMetadata {
  const pages: PageMetadata[] = []
  const starts: number[] = []
  const sizes: number[] = []
  let encoding: AnyMessage = none
  while (message.next()) {
    if (message.field === 1) encoding = readEncoding(message.message())
    else if (message.field === 2) pages.push(readPage(message.message()))
    else if (message.field === 3) message.countsInto(starts)
    else if (message.field === 4) message.countsInto(sizes)
    else message.skip()
  }
  return { pages, buffers: toRanges(starts, sizes), encoding: encoding.value }
}

function readPage(message: MessageReader): PageMetadata {
  const starts: number[] = []
  const sizes: number[] = []
  let rows = 0
  let encoding: AnyMessage = none
  while (message.next()) {
    if (message.field === 1) message.countsInto(starts)
    else if (message.field === 2) message.countsInto(sizes)
    else if (message.field === 3) rows = message.count()
    else if (message.field === 4) encoding = readEncoding(message.message())
    else message.skip()
  }
  // Refused at once, because a page without an encoding takes few bytes of the file and many of the memory.
  if (encoding.type === '') throw invalidInput('a page of a column has no encoding')
  return { rows, buffers: toRanges(starts, sizes), encodingType: encoding.type, encoding: encoding.value }
}

function toRanges(starts: readonly number[], sizes: readonly number[]): ByteRange[] {
  if (starts.length !== sizes.length) {
    throw invalidInput(`the metadata of a column has ${starts.length} positions, but ${sizes.length} sizes`)
  }
  return starts.map((start, i) => ({ start, end: start + sizes[i]! }))
}

/** A message of any type, and the name of its type. */
interface AnyMessage {
  readonly type: string
  readonly value: Uint8Array
}

const none: AnyMessage = { type: '', value: new Uint8Array(0) }

/** Read the message `Encoding`. */
function readEncoding(message: MessageReader): AnyMessage {
  let encoding = none
  while (message.next()) {
    if (message.field === 2) encoding = readDirect(message.message())
    else if (message.field === 1) {
      throw unsupported('the metadata of a column is outside of its metadata block', {
        hint: 'rewrite the table with LanceDB',
      })
    } else message.skip()
  }
  return encoding
}

function readDirect(message: MessageReader): AnyMessage {
  let encoding = none
  while (message.next()) {
    if (message.field === 1) encoding = readAny(new MessageReader(message.bytes()))
    else message.skip()
  }
  return encoding
}

function readAny(message: MessageReader): AnyMessage {
  let type = ''
  let value: Uint8Array = none.value
  while (message.next()) {
    if (message.field === 1) type = message.text()
    else if (message.field === 2) value = message.bytes()
    else message.skip()
  }
  return { type: type.slice(type.lastIndexOf('/') + 1), value }
}

/**
 * Reads the descriptions of pages of Lance files 2.1 and 2.2 (encodings_v2_1.proto) as plain data. A page has a layout,
 * which says where its values and levels are, and encodings, which say how values are compressed.
 */
import { invalidInput, unsupported } from '../errors.js'
import type { MessageReader } from './protobuf.js'

/** A general compression of bytes. */
export type Scheme = 'lz4' | 'zstd'

/** How values became buffers. `bits`: width of a value before compression, except for `flat` inside of `out-of-line`. */
export type Encoding =
  | { readonly kind: 'flat'; readonly bits: number }
  | { readonly kind: 'variable'; readonly offsetBits: number }
  | { readonly kind: 'constant'; readonly value: Uint8Array | null }
  | { readonly kind: 'out-of-line'; readonly bits: number; readonly packedBits: number }
  | { readonly kind: 'inline'; readonly bits: number }
  | { readonly kind: 'fsst'; readonly table: Uint8Array; readonly values: Encoding }
  | { readonly kind: 'rle'; readonly values: Encoding; readonly lengths: Encoding }
  | { readonly kind: 'split'; readonly bits: number }
  | { readonly kind: 'general'; readonly scheme: Scheme; readonly values: Encoding }
  | { readonly kind: 'list'; readonly size: number; readonly hasValidity: boolean; readonly values: Encoding }
  | { readonly kind: 'packed'; readonly bits: readonly number[]; readonly values: Encoding }
  | { readonly kind: 'packed-rows'; readonly fields: readonly PackedField[] }

/** A child of a struct whose rows are stored one after the other. `bits` or `lengthBits` is 0. */
export interface PackedField {
  readonly encoding: Encoding
  /** Width of each value, if the child has a fixed width. */
  readonly bits: number
  /** Width of the length before each value, if the values differ in length. */
  readonly lengthBits: number
}

/** The levels that one layer has. A list layer may have a level for null lists and a level for empty lists. */
export interface Layer {
  readonly isList: boolean
  readonly hasNulls: boolean
  readonly hasEmpty: boolean
}

/** Small values in chunks. */
export interface MiniBlockLayout {
  readonly kind: 'mini-block'
  readonly rep: Encoding | null
  readonly def: Encoding | null
  readonly values: Encoding
  readonly dictionary: Encoding | null
  readonly dictionaryItems: number
  readonly layers: readonly Layer[]
  readonly buffers: number
  readonly repIndexDepth: number
  readonly items: number
  readonly hasLargeChunks: boolean
}

/** Large values, each with its levels in front. */
export interface FullZipLayout {
  readonly kind: 'full-zip'
  readonly repBits: number
  readonly defBits: number
  /** Bits of each value; 0 if the values differ in length. */
  readonly valueBits: number
  /** Bits of the length in front of each value; 0 if all values have the same length. */
  readonly lengthBits: number
  readonly items: number
  readonly visibleItems: number
  readonly values: Encoding
  readonly layers: readonly Layer[]
}

/** One value for all items, or only nulls. */
export interface ConstantLayout {
  readonly kind: 'constant'
  readonly layers: readonly Layer[]
  readonly value: Uint8Array | null
  readonly rep: Encoding | null
  readonly def: Encoding | null
  readonly repCount: number
  readonly defCount: number
}

/** The positions of values that are stored outside of the page. */
export interface BlobLayout {
  readonly kind: 'blob'
  readonly inner: PageLayout
  readonly layers: readonly Layer[]
}

export type PageLayout = MiniBlockLayout | FullZipLayout | ConstantLayout | BlobLayout

/** Read the message `PageLayout`. Throws Unsupported for a layout of a newer version. */
export function readPageLayout(message: MessageReader): PageLayout {
  let layout: PageLayout | null = null
  while (message.next()) {
    if (message.field === 1) layout = readMiniBlock(message.message())
    else if (message.field === 2) layout = readConstant(message.message())
    else if (message.field === 3) layout = readFullZip(message.message())
    else if (message.field === 4) layout = readBlob(message.message())
    else throw newerEncoding(`layout ${message.field}`)
  }
  if (layout === null) throw invalidInput('a page has no layout')
  return layout
}

/** Create the error for an encoding that this reader does not know. */
export function newerEncoding(what: string): Error {
  return unsupported(`a page has the unknown ${what}`, {
    hint: 'rewrite the table with LanceDB and dataStorageVersion "2.2", or "stable"',
  })
}

function readMiniBlock(message: MessageReader): MiniBlockLayout {
  const layers: number[] = []
  const layout = {
    rep: null as Encoding | null,
    def: null as Encoding | null,
    values: null as Encoding | null,
    dictionary: null as Encoding | null,
    dictionaryItems: 0,
    buffers: 0,
    repIndexDepth: 0,
    items: 0,
    hasLargeChunks: false,
  }
  while (message.next()) {
    if (message.field === 1) layout.rep = readEncoding(message.message())
    else if (message.field === 2) layout.def = readEncoding(message.message())
    else if (message.field === 3) layout.values = readEncoding(message.message())
    else if (message.field === 4) layout.dictionary = readEncoding(message.message())
    else if (message.field === 5) layout.dictionaryItems = message.count()
    else if (message.field === 6) message.countsInto(layers)
    else if (message.field === 7) layout.buffers = message.count()
    else if (message.field === 8) layout.repIndexDepth = message.count()
    else if (message.field === 9) layout.items = message.count()
    else if (message.field === 10) layout.hasLargeChunks = message.bool()
    else message.skip()
  }
  const { values } = layout
  if (layout.buffers > 64) throw invalidInput(`a chunk of a page has ${layout.buffers} buffers`)
  if (layout.repIndexDepth > 64)
    throw invalidInput(`a page has a repetition index of depth ${layout.repIndexDepth}`)
  return { kind: 'mini-block', ...layout, values: required(values), layers: readLayers(layers) }
}

function readConstant(message: MessageReader): ConstantLayout {
  const layers: number[] = []
  const layout = {
    value: null as Uint8Array | null,
    rep: null as Encoding | null,
    def: null as Encoding | null,
    repCount: 0,
    defCount: 0,
  }
  while (message.next()) {
    if (message.field === 5) message.countsInto(layers)
    else if (message.field === 6) layout.value = message.bytes()
    else if (message.field === 7) layout.rep = readEncoding(message.message())
    else if (message.field === 8) layout.def = readEncoding(message.message())
    else if (message.field === 9) layout.repCount = message.count()
    else if (message.field === 10) layout.defCount = message.count()
    else message.skip()
  }
  return { kind: 'constant', ...layout, layers: readLayers(layers) }
}

function readFullZip(message: MessageReader): FullZipLayout {
  const layers: number[] = []
  const layout = { repBits: 0, defBits: 0, valueBits: 0, lengthBits: 0, items: 0, visibleItems: 0 }
  let values: Encoding | null = null
  while (message.next()) {
    if (message.field === 1) layout.repBits = message.count()
    else if (message.field === 2) layout.defBits = message.count()
    else if (message.field === 3) layout.valueBits = message.count()
    else if (message.field === 4) layout.lengthBits = message.count()
    else if (message.field === 5) layout.items = message.count()
    else if (message.field === 6) layout.visibleItems = message.count()
    else if (message.field === 7) values = readEncoding(message.message())
    else if (message.field === 8) message.countsInto(layers)
    else message.skip()
  }
  const { repBits, defBits, valueBits, lengthBits } = layout
  if (repBits > 16 || defBits > 16 || valueBits % 8 !== 0 || ![0, 32, 64].includes(lengthBits)) {
    throw invalidInput(
      `a page has levels of ${repBits} and ${defBits} bits, values of ${valueBits} bits and lengths of ${lengthBits} bits`,
    )
  }
  return { kind: 'full-zip', ...layout, values: required(values), layers: readLayers(layers) }
}

function readBlob(message: MessageReader): BlobLayout {
  const layers: number[] = []
  let inner: PageLayout | null = null
  while (message.next()) {
    if (message.field === 1) inner = readPageLayout(message.message())
    else if (message.field === 2) message.countsInto(layers)
    else message.skip()
  }
  if (inner === null) throw invalidInput('a page of blobs has no layout')
  return { kind: 'blob', inner, layers: readLayers(layers) }
}

const layerKinds: readonly (Layer | undefined)[] = [
  undefined,
  { isList: false, hasNulls: false, hasEmpty: false },
  { isList: true, hasNulls: false, hasEmpty: false },
  { isList: false, hasNulls: true, hasEmpty: false },
  { isList: true, hasNulls: true, hasEmpty: false },
  { isList: true, hasNulls: false, hasEmpty: true },
  { isList: true, hasNulls: true, hasEmpty: true },
]

function readLayers(numbers: readonly number[]): Layer[] {
  return numbers.map(number => {
    const layer = layerKinds[number]
    if (layer === undefined) throw newerEncoding(`kind of levels ${number}`)
    return layer
  })
}

function required(encoding: Encoding | null): Encoding {
  if (encoding === null) throw invalidInput('an encoding of a page is missing')
  return encoding
}

type Reader = (message: MessageReader) => Encoding

/** By field of `CompressiveEncoding`: the reader of its message. */
const readers: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [1, readFlat],
  [2, readVariable],
  [3, readConstantValue],
  [4, readOutOfLine],
  [5, message => ({ kind: 'inline', bits: wordBits(readUncompressed(message)) })],
  [6, readFsst],
  [8, readRle],
  [9, readSplit],
  [10, readGeneral],
  [11, readList],
  [12, readPacked],
  [13, readPackedRows],
])

/** Read the message `CompressiveEncoding`. Throws Unsupported for an encoding of a newer version. */
export function readEncoding(message: MessageReader): Encoding {
  let encoding: Encoding | null = null
  while (message.next()) {
    const read = readers.get(message.field)
    if (read === undefined) throw newerEncoding(`encoding ${message.field}`)
    encoding = read(message.message())
  }
  return required(encoding)
}

function readFlat(message: MessageReader): { readonly kind: 'flat'; readonly bits: number } {
  const bits = readUncompressed(message)
  if (bits === 0 || (bits !== 1 && bits % 8 !== 0 && bits > 64) || bits > 2 ** 31) {
    throw invalidInput(`a page has values of ${bits} bits`)
  }
  return { kind: 'flat', bits }
}

/** Read field 1, a number of bits. Field 2, a compression of the buffer, is not used by any version of Lance. */
function readUncompressed(message: MessageReader): number {
  let bits = 0
  while (message.next()) {
    if (message.field === 1) bits = message.count()
    else if (message.field === 2) throw newerEncoding('compression of a single buffer')
    else message.skip()
  }
  return bits
}

function wordBits(bits: number): number {
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64) {
    throw invalidInput(`a page packs values of ${bits} bits, expected 8, 16, 32 or 64`)
  }
  return bits
}

function readVariable(message: MessageReader): Encoding {
  let offsets: Encoding | null = null
  while (message.next()) {
    if (message.field === 1) offsets = readEncoding(message.message())
    else if (message.field === 2) throw newerEncoding('compression of a single buffer')
    else message.skip()
  }
  if (offsets?.kind !== 'flat' || (offsets.bits !== 32 && offsets.bits !== 64)) {
    throw newerEncoding('encoding of offsets')
  }
  return { kind: 'variable', offsetBits: offsets.bits }
}

function readConstantValue(message: MessageReader): Encoding {
  let value: Uint8Array | null = null
  while (message.next()) {
    if (message.field === 1) value = message.bytes()
    else message.skip()
  }
  return { kind: 'constant', value }
}

function readOutOfLine(message: MessageReader): Encoding {
  let bits = 0
  let values: Encoding | null = null
  while (message.next()) {
    if (message.field === 1) bits = message.count()
    else if (message.field === 3) values = readEncoding(message.message())
    else message.skip()
  }
  if (values?.kind !== 'flat' || values.bits > bits) throw newerEncoding('encoding of packed values')
  return { kind: 'out-of-line', bits: wordBits(bits), packedBits: values.bits }
}

function readFsst(message: MessageReader): Encoding {
  let table: Uint8Array = new Uint8Array(0)
  let values: Encoding | null = null
  while (message.next()) {
    if (message.field === 1) table = message.bytes()
    else if (message.field === 2) values = readEncoding(message.message())
    else message.skip()
  }
  return { kind: 'fsst', table, values: required(values) }
}

function readRle(message: MessageReader): Encoding {
  let values: Encoding | null = null
  let lengths: Encoding | null = null
  while (message.next()) {
    if (message.field === 1) values = readEncoding(message.message())
    else if (message.field === 2) lengths = readEncoding(message.message())
    else message.skip()
  }
  return { kind: 'rle', values: required(values), lengths: required(lengths) }
}

function readSplit(message: MessageReader): Encoding {
  let values: Encoding | null = null
  while (message.next()) {
    if (message.field === 1) values = readEncoding(message.message())
    else message.skip()
  }
  if (values?.kind !== 'flat') throw newerEncoding('encoding of split bytes')
  return { kind: 'split', bits: wordBits(values.bits) }
}

function readGeneral(message: MessageReader): Encoding {
  let scheme: Scheme | null = null
  let values: Encoding | null = null
  while (message.next()) {
    if (message.field === 1) scheme = readScheme(message.message())
    else if (message.field === 3) values = readEncoding(message.message())
    else message.skip()
  }
  if (scheme === null) throw invalidInput('a compression of a page is missing')
  return { kind: 'general', scheme, values: required(values) }
}

function readScheme(message: MessageReader): Scheme {
  let scheme = 0
  while (message.next()) {
    if (message.field === 1) scheme = message.count()
    else message.skip()
  }
  if (scheme === 1) return 'lz4'
  if (scheme === 2) return 'zstd'
  throw newerEncoding(`compression ${scheme}`)
}

function readList(message: MessageReader): Encoding {
  let size = 0
  let hasValidity = false
  let values: Encoding | null = null
  while (message.next()) {
    if (message.field === 1) size = message.count()
    else if (message.field === 2) values = readEncoding(message.message())
    else if (message.field === 3) hasValidity = message.bool()
    else message.skip()
  }
  if (size < 1 || size > 0x7fffffff) throw invalidInput(`a page has lists of ${size} items`)
  return { kind: 'list', size, hasValidity, values: required(values) }
}

function readPacked(message: MessageReader): Encoding {
  const bits: number[] = []
  let values: Encoding | null = null
  while (message.next()) {
    if (message.field === 1) message.countsInto(bits)
    else if (message.field === 2) values = readEncoding(message.message())
    else message.skip()
  }
  return { kind: 'packed', bits, values: required(values) }
}

function readPackedRows(message: MessageReader): Encoding {
  const fields: PackedField[] = []
  while (message.next()) {
    if (message.field === 1) fields.push(readPackedField(message.message()))
    else message.skip()
  }
  return { kind: 'packed-rows', fields }
}

function readPackedField(message: MessageReader): PackedField {
  let encoding: Encoding | null = null
  let bits = 0
  let lengthBits = 0
  while (message.next()) {
    if (message.field === 1) encoding = readEncoding(message.message())
    else if (message.field === 2) bits = message.count()
    else if (message.field === 3) lengthBits = message.count()
    else message.skip()
  }
  if (bits % 8 !== 0 || ![0, 32, 64].includes(lengthBits) || (bits === 0) === (lengthBits === 0)) {
    throw invalidInput(`a packed struct has values of ${bits} bits with lengths of ${lengthBits} bits`)
  }
  return { encoding: required(encoding), bits, lengthBits }
}

/**
 * Reads the stable row ids of a fragment (`lance.table.RowIdSequence` of rowids.proto). A sequence consists of segments:
 * a range, a range without some numbers, a range with a bitmap, or an array of numbers.
 */
import { invalidInput } from '../errors.js'
import { NumberRuns } from '../primitives/number-runs.js'
import { UnorderedRuns } from '../primitives/unordered-runs.js'
import { MessageReader } from './protobuf.js'

/**
 * Decode row ids. `rows`: the number of rows of the fragment. `name`: the place of the bytes, for errors.
 * @throws InvalidInput if the bytes are damaged, if there are not `rows` ids, or if an id occurs twice.
 */
export function decodeRowIds(bytes: Uint8Array, rows: number, name: string): NumberRuns | UnorderedRuns {
  const runs = new RunList(name, rows)
  const message = new MessageReader(bytes)
  while (message.next()) {
    if (message.field === 1) readSegment(message.message(), runs)
    else message.skip()
  }
  return runs.sequence()
}

/** Collects numbers as runs. */
class RunList {
  readonly name: string
  readonly #rows: number
  readonly #starts: number[] = []
  readonly #lengths: number[] = []
  #count = 0
  #ascends = true

  constructor(name: string, rows: number) {
    this.name = name
    this.#rows = rows
  }

  add(start: number, length: number): void {
    if (length === 0) return
    this.#count += length
    if (this.#count > this.#rows) throw this.damaged(`it has more than ${this.#rows} ids`)
    if (start + length > Number.MAX_SAFE_INTEGER) throw this.damaged('an id is above 2^53 - 1')
    const last = this.#starts.length - 1
    const end = last < 0 ? -1 : this.#starts[last]! + this.#lengths[last]!
    if (start === end) this.#lengths[last]! += length
    else {
      if (start < end) this.#ascends = false
      this.#starts.push(start)
      this.#lengths.push(length)
    }
  }

  sequence(): NumberRuns | UnorderedRuns {
    if (this.#count !== this.#rows) throw this.damaged(`it has ${this.#count} ids instead of ${this.#rows}`)
    if (this.#ascends) return new NumberRuns(this.#starts, this.#lengths)
    const order = Uint32Array.from(this.#starts, (_, run) => run)
    order.sort((a, b) => this.#starts[a]! - this.#starts[b]!)
    for (let i = 1; i < order.length; i++) {
      const before = order[i - 1]!
      const start = this.#starts[order[i]!]!
      if (start < this.#starts[before]! + this.#lengths[before]!)
        throw this.damaged(`it has the id ${start} twice`)
    }
    return new UnorderedRuns(this.#starts, this.#lengths)
  }

  damaged(problem: string): Error {
    return invalidInput(`the row ids of ${this.name} are damaged: ${problem}`)
  }
}

function readSegment(message: MessageReader, runs: RunList): void {
  while (message.next()) {
    if (message.field === 1) readRange(message.message(), runs)
    else if (message.field === 2) readRangeWithHoles(message.message(), runs)
    else if (message.field === 3) readRangeWithBitmap(message.message(), runs)
    else if (message.field === 4 || message.field === 5) {
      for (const id of readArray(message.message(), runs)) runs.add(id, 1)
    } else throw runs.damaged(`a segment has the unknown type ${message.field}`)
  }
}

function readRange(message: MessageReader, runs: RunList): void {
  let [start, end] = [0, 0]
  while (message.next()) {
    if (message.field === 1) start = message.count()
    else if (message.field === 2) end = message.count()
    else message.skip()
  }
  if (end < start) throw runs.damaged(`a range ends at ${end}, before its start ${start}`)
  runs.add(start, end - start)
}

function readRangeWithHoles(message: MessageReader, runs: RunList): void {
  let [start, end] = [0, 0]
  let holes: Float64Array = new Float64Array(0)
  while (message.next()) {
    if (message.field === 1) start = message.count()
    else if (message.field === 2) end = message.count()
    else if (message.field === 3) holes = readArray(message.message(), runs)
    else message.skip()
  }
  let at = start
  for (const hole of holes) {
    if (hole < at || hole >= end) throw runs.damaged(`${hole} is not a hole of a range from ${at} to ${end}`)
    runs.add(at, hole - at)
    at = hole + 1
  }
  if (end < at) throw runs.damaged(`a range ends at ${end}, before ${at}`)
  runs.add(at, end - at)
}

function readRangeWithBitmap(message: MessageReader, runs: RunList): void {
  let [start, end] = [0, 0]
  let bitmap: Uint8Array = new Uint8Array(0)
  while (message.next()) {
    if (message.field === 1) start = message.count()
    else if (message.field === 2) end = message.count()
    else if (message.field === 3) bitmap = message.bytes()
    else message.skip()
  }
  const length = end - start
  if (length < 0 || bitmap.length !== Math.ceil(length / 8))
    throw runs.damaged(`a range from ${start} to ${end} has a bitmap of ${bitmap.length} bytes`)
  for (let i = 0; i < length; i++) if (((bitmap[i >> 3]! >> (i & 7)) & 1) === 1) runs.add(start + i, 1)
}

/** Read a message `EncodedU64Array`. */
function readArray(message: MessageReader, runs: RunList): Float64Array {
  let numbers: Float64Array = new Float64Array(0)
  while (message.next()) {
    const { field } = message
    if (field < 1 || field > 3) throw runs.damaged(`an array has the unknown type ${field}`)
    numbers = readNumbers(message.message(), (1 << field) as 2 | 4 | 8, runs)
  }
  return numbers
}

/** Read an array of numbers with `width` bytes. Arrays of 2 and 4 bytes have a base, which is added to each number. */
function readNumbers(message: MessageReader, width: 2 | 4 | 8, runs: RunList): Float64Array {
  let base = 0
  let bytes: Uint8Array = new Uint8Array(0)
  while (message.next()) {
    if (message.field === 1 && width < 8) base = message.count()
    else if (message.field === 2) bytes = message.bytes()
    else message.skip()
  }
  if (bytes.length % width !== 0)
    throw runs.damaged(`an array of ${width}-byte numbers has ${bytes.length} bytes`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Float64Array.from({ length: bytes.length / width }, (_, i) => {
    if (width === 2) return base + view.getUint16(2 * i, true)
    if (width === 4) return base + view.getUint32(4 * i, true)
    const number = view.getBigUint64(8 * i, true)
    if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw runs.damaged(`the id ${number} is above 2^53 - 1`)
    return Number(number)
  })
}

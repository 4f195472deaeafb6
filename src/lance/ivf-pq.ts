/**
 * Reads vector indexes of LanceDB that consist of partitions with codes of product quantization (IVF_PQ). An index has
 * two Lance files (https://lance.org/format/table/index/vector): `index.idx` has the centroids of the partitions, and
 * `auxiliary.idx` has the codebook, and the row ids and codes of all partitions, one partition after the other.
 */
import { invalidInput, quote, unsupported } from '../errors.js'
import type { LanceFile } from './file.js'
import { MessageReader } from './protobuf.js'

/** The kind and the metric of a vector index. */
export interface LanceIndexHead {
  /** The kind of the index, for example `IVF_PQ`. */
  readonly kind: string
  /** The metric, for example `l2`. */
  readonly metric: string
}

/** The parameters of an index, and the number of rows of each partition. */
export interface IvfPqPlan {
  readonly metric: 'l2' | 'cosine'
  readonly dim: number
  /** Number of rows of each partition. */
  readonly counts: Uint32Array
  /** The centroids of the partitions, `dim` elements each. */
  readonly centroids: Float32Array
  /** Number of parts of a vector. All parts have the same number of elements. */
  readonly parts: number
  /** Number of bits of a code: 4 or 8. */
  readonly bits: number
  /** The centroids of each part, one part after the other. A part has `2 ** bits` centroids. */
  readonly codebook: Float32Array
}

/** Maximum number of rows of an index: rows are numbered with 32 bits. */
const maxRows = 2 ** 31 - 1

/** Return the kind and the metric of an index. `file`: its `index.idx`. Throws InvalidInput if it has none. */
export function readIndexHead({ schema: { metadata } }: LanceFile): LanceIndexHead {
  const { type, distance_type: metric } = parsed(metadata['lance:index'], 'lance:index')
  if (typeof type !== 'string' || typeof metric !== 'string')
    throw invalidInput('the index file does not say its type and its distance_type')
  return { kind: type, metric: metric.toLowerCase() }
}

/** An opened index. */
export class IvfPq {
  readonly plan: IvfPqPlan
  readonly #auxiliary: LanceFile
  readonly #isTransposed: boolean

  private constructor(plan: IvfPqPlan, auxiliary: LanceFile, isTransposed: boolean) {
    this.plan = plan
    this.#auxiliary = auxiliary
    this.#isTransposed = isTransposed
  }

  /**
   * Open an index. Reads its centroids and codebook, and no rows.
   * @throws InvalidInput if a file is damaged. Unsupported if Sheaf does not know the kind of the index.
   */
  static async open(index: LanceFile, auxiliary: LanceFile): Promise<IvfPq> {
    const { kind, metric } = readIndexHead(index)
    if (kind !== 'IVF_PQ') throw unsupported(`Sheaf does not read ${kind} indexes of LanceDB`)
    if (metric !== 'l2' && metric !== 'cosine')
      throw unsupported(`Sheaf does not read IVF_PQ indexes of LanceDB with the metric ${metric}`)
    const { metadata } = auxiliary.schema
    if (metadata.distance_type?.toLowerCase() !== metric)
      throw invalidInput(`the index has the metric ${metric}, but its codes have ${metadata.distance_type}`)
    const { centroids } = await readPartitions(index)
    if (centroids === null) throw invalidInput('the index has no centroids')
    const [partitions, dim] = centroids.shape
    const { counts } = await readPartitions(auxiliary)
    const rows = counts.reduce((sum, count) => sum + count, 0)
    if (counts.length !== partitions || rows !== auxiliary.rows || rows > maxRows)
      throw invalidInput(
        `the index has ${partitions} centroids, and ${counts.length} partitions with ${rows} rows, but its file has ${auxiliary.rows} rows`,
      )
    const { isTransposed, ...quantizer } = await readQuantizer(auxiliary, dim)
    checkFields(auxiliary, codeBytes(quantizer))
    const plan: IvfPqPlan = {
      metric,
      dim,
      counts: Uint32Array.from(counts),
      centroids: centroids.values,
      ...quantizer,
    }
    return new IvfPq(plan, auxiliary, isTransposed)
  }

  /** Read the ids of the rows `from` to before `to` of the file. They have the order of the partitions. */
  async readIds(from: number, to: number): Promise<BigUint64Array> {
    const column = await this.#auxiliary.readColumn(this.#field(rowIdName), this.#columnOf, from, to)
    if (column.nullCount > 0) throw invalidInput('the index has rows without an id')
    return (column.values as BigUint64Array).subarray(0, to - from)
  }

  /** Read the codes of the rows `from` to before `to` of the file, in the form in which the file has them. */
  async readCodes(from: number, to: number): Promise<Uint8Array> {
    const column = await this.#auxiliary.readColumn(this.#field(codeName), this.#columnOf, from, to)
    const [codes] = column.children
    if (column.nullCount > 0 || codes === undefined || codes.nullCount > 0)
      throw invalidInput('the index has rows without a code')
    return (codes.values as Uint8Array).subarray(0, (to - from) * codeBytes(this.plan))
  }

  /**
   * Write the codes of some rows of a partition to `target`, one byte per part. `codes`: the codes of the partition
   * (`readCodes`). `rows`: the wanted rows of the partition.
   */
  copyCodes(codes: Uint8Array, rows: Uint32Array, target: Uint8Array): void {
    const { parts, bits } = this.plan
    const width = codeBytes(this.plan)
    const [perByte, perRow] = this.#isTransposed ? [codes.length / width, 1] : [1, width]
    const isWide = bits === 8
    for (let i = 0; i < rows.length; i++) {
      const from = rows[i]! * perRow
      for (let p = 0; p < parts; p++) {
        // Two codes of 4 bits share a byte. The lower bits belong to the first of the two parts.
        const byte = codes[from + (isWide ? p : p >> 1) * perByte]!
        target[i * parts + p] = isWide ? byte : (byte >> (4 * (p & 1))) & 15
      }
    }
  }

  #field(name: string) {
    return this.#auxiliary.schema.fields.find(field => field.name === name)!
  }

  readonly #columnOf = (id: number): number | undefined => {
    this.#columns ??= this.#auxiliary.columnIds()
    return this.#columns.get(id)
  }

  #columns: ReadonlyMap<number, number> | undefined
}

const rowIdName = '_rowid'
const codeName = '__pq_code'

function codeBytes({ parts, bits }: Pick<IvfPqPlan, 'parts' | 'bits'>): number {
  return (parts * bits) / 8
}

function checkFields({ schema }: LanceFile, bytes: number): void {
  const types = new Map(schema.fields.map(({ name, logicalType }) => [name, logicalType]))
  const [id, code] = [types.get(rowIdName), types.get(codeName)]
  if (id === 'uint64' && code === `fixed_size_list:uint8:${bytes}`) return
  throw invalidInput(`the index has row ids of type ${id} and codes of type ${code}, not of ${bytes} bytes`)
}

/** Numbers with two dimensions. */
interface Tensor {
  readonly shape: readonly [rows: number, width: number]
  readonly values: Float32Array
}

/** The value of `data_type` for float32. */
const float32Type = 2

/** Read a message `Tensor` with float32s. */
function readTensor(message: MessageReader): Tensor {
  const shape: number[] = []
  let type = 0
  let data = new Uint8Array(0)
  while (message.next()) {
    if (message.field === 1) type = message.count()
    else if (message.field === 2) message.countsInto(shape)
    else if (message.field === 3) data = message.bytes().slice()
    else message.skip()
  }
  if (type !== float32Type) throw unsupported(`the index has centroids of type ${type}; Sheaf reads float32`)
  const [rows = 0, width = 0] = shape
  if (shape.length !== 2 || rows < 1 || width < 1 || 4 * rows * width !== data.length)
    throw invalidInput(`the index has ${data.length} bytes of centroids for the shape ${shape.join(' x ')}`)
  const values = new Float32Array(data.buffer)
  if (!values.every(Number.isFinite)) throw invalidInput('the index has centroids that are not finite')
  return { shape: [rows, width], values }
}

/** Read the message `IVF` of a file. */
async function readPartitions(
  file: LanceFile,
): Promise<{ readonly counts: readonly number[]; readonly centroids: Tensor | null }> {
  const message = new MessageReader(await file.readBuffer(bufferNumber(file.schema.metadata['lance:ivf'])))
  const [counts, starts]: [number[], number[]] = [[], []]
  let centroids: Tensor | null = null
  while (message.next()) {
    if (message.field === 2) message.countsInto(starts)
    else if (message.field === 3) message.countsInto(counts)
    else if (message.field === 4) centroids = readTensor(message.message())
    else message.skip()
  }
  let end = 0
  for (const [i, count] of counts.entries()) {
    if (starts.length > 0 && starts[i] !== end)
      throw invalidInput(`partition ${i} of the index begins at row ${starts[i]}, not at row ${end}`)
    end += count
  }
  return { counts, centroids }
}

/** Read the codebook and the form of the codes. `dim`: number of elements of a vector. */
async function readQuantizer(
  file: LanceFile,
  dim: number,
): Promise<Pick<IvfPqPlan, 'parts' | 'bits' | 'codebook'> & { readonly isTransposed: boolean }> {
  const list: unknown = parsed(file.schema.metadata.storage_metadata, 'storage_metadata')
  const [text] = Array.isArray(list) ? list : []
  const { codebook_position, nbits, num_sub_vectors, dimension, transposed } = parsed(
    text,
    'storage_metadata',
  )
  const parts = Number(num_sub_vectors)
  const bits = Number(nbits)
  const isKnown = (bits === 8 || (bits === 4 && parts % 2 === 0)) && typeof transposed === 'boolean'
  if (!isKnown || dimension !== dim || !(parts >= 1 && dim % parts === 0))
    throw invalidInput(
      `the index has ${parts} codes of ${bits} bits for ${dimension} dimensions, but its centroids have ${dim}`,
    )
  const { shape, values } = readTensor(
    new MessageReader(await file.readBuffer(bufferNumber(codebook_position))),
  )
  if (shape[0] !== 2 ** bits || shape[1] !== dim)
    throw invalidInput(
      `the codebook of the index has the shape ${shape.join(' x ')}, not ${2 ** bits} x ${dim}`,
    )
  return { parts, bits, codebook: values, isTransposed: transposed }
}

/** Return the number of a global buffer. Buffer 0 is the schema of the file. */
function bufferNumber(value: unknown): number {
  const number = Number(value)
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw invalidInput(`the index refers to a buffer ${quote(String(value))}`)
}

/** Parse a value of the metadata as JSON. Returns an object or a list. */
function parsed(text: unknown, key: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(String(text))
  } catch (cause) {
    throw invalidInput(`the value ${key} in the metadata of the index is not JSON`, { cause })
  }
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  throw invalidInput(`the value ${key} in the metadata of the index is not an object`)
}

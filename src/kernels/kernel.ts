/**
 * The WebAssembly module: compiled once, instantiated once per memory, because its heap state lives in the
 * instance. A fault inside it becomes a `SheafError`, never the end of the process.
 */
import { ErrorCode, SheafError } from '../errors.js'
import { wasmBase64 } from './wasm.generated.js'

/** The functions of `wasm/module.ts`. All addresses are offsets into the instance's memory. */
export interface Kernel {
  measureRange(
    kind: number,
    metric: number,
    first: number,
    count: number,
    dim: number,
    query: number,
    norm: number,
    out: number,
  ): void
  measureList(
    kind: number,
    metric: number,
    list: number,
    count: number,
    dim: number,
    query: number,
    norm: number,
    out: number,
  ): void
  search(
    kind: number,
    metric: number,
    rows: number,
    dim: number,
    query: number,
    norm: number,
    visit: number,
    bits: number,
    list: number,
    distances: number,
    heap: number,
    k: number,
    lower: number,
    upper: number,
  ): number
  sumWords(bytes: number): number
  openNearest(heap: number, k: number, allowed: number): void
  offerNearest(distances: number, ordinals: number, count: number, base: number): void
  closeNearest(): number
  scanFloats(
    list: number,
    count: number,
    stride: number,
    query: number,
    distances: number,
    ordinals: number,
    base: number,
  ): void
  scanBytes(
    list: number,
    count: number,
    stride: number,
    query: number,
    scale: number,
    distances: number,
    ordinals: number,
    base: number,
  ): void
  scanBits(
    list: number,
    count: number,
    stride: number,
    query: number,
    distances: number,
    ordinals: number,
    base: number,
  ): void
  assignRows(
    vectors: number,
    rows: number,
    dim: number,
    origin: number,
    groups: number,
    panels: number,
    panelCount: number,
    bests: number,
    out: number,
  ): void
  graphInsert(block: number, list: number, count: number, width: number): void
  graphOpen(block: number, width: number, some: boolean): void
  graphEnter(query: number, row: number, level: number): void
  graphClose(block: number, query: number, k: number, outRows: number, outDistances: number): number
  squareColumns(columns: number, width: number, count: number, query: number, out: number): void
  nearestColumns(
    columns: number,
    halves: number,
    width: number,
    count: number,
    vectors: number,
    stride: number,
    rows: number,
    out: number,
    step: number,
  ): void
  scanCodes(list: number, count: number, parts: number, table: number, ordinals: number, base: number): void
  roundTables(table: number, parts: number, out: number): void
  scanNibbles(
    list: number,
    count: number,
    parts: number,
    tables: number,
    sums: number,
    ordinals: number,
    base: number,
  ): void
  rotate(vector: number, dims: number, signs: number, rounds: number): void
  encodeSigns(
    vectors: number,
    rows: number,
    dim: number,
    dims: number,
    signs: number,
    rounds: number,
    work: number,
    codes: number,
    factors: number,
  ): void
  tabulateSigns(query: number, dims: number, tables: number): void
  scanSigns(
    list: number,
    count: number,
    parts: number,
    tables: number,
    sums: number,
    ordinals: number,
    base: number,
  ): void
}

export interface KernelMemory {
  /** All of it; never grows, so views of it never detach. */
  readonly buffer: ArrayBuffer
  readonly kernel: Kernel
}

/** What we use of the global `WebAssembly`, which some hosts lack. */
interface WebAssemblyApi {
  validate(bytes: Uint8Array): boolean
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
  readonly Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
}

const pageBytes = 65_536

/**
 * Memories there may be at once. Each takes gigabytes of address space and two of the mappings a process may have (65,530 on
 * Linux); near the end of either the engine collects garbage for every further one, and then other allocations fail.
 */
export const kernelsMax = 4096

const api = (globalThis as { WebAssembly?: WebAssemblyApi }).WebAssembly
let compiled: object | null | undefined
let open = 0
/** A memory is gone when nobody sees its bytes any more. */
const closed = new FinalizationRegistry<void>(() => {
  open--
})

/** A zeroed memory of at least `bytes` with a kernel of its own; null without SIMD, without address space, or beyond `kernelsMax`. */
export function openKernel(bytes: number): KernelMemory | null {
  const module = compileOnce()
  if (api === undefined || module === null || open >= kernelsMax) return null
  const pages = Math.ceil(bytes / pageBytes)
  let memory: { readonly buffer: ArrayBuffer }
  try {
    memory = new api.Memory({ initial: pages, maximum: pages })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
  const { exports } = new api.Instance(module, { env: { memory } })
  const { buffer } = memory
  open++
  closed.register(buffer, undefined)
  return { buffer, kernel: guarded(exports as Kernel) }
}

/** Null where the module does not validate: a host without SIMD. */
function compileOnce(): object | null {
  if (compiled === undefined) {
    const bytes = Buffer.from(wasmBase64, 'base64')
    compiled = api?.validate(bytes) ? new api.Module(bytes) : null
  }
  return compiled
}

function guarded(kernel: Kernel): Kernel {
  const guard =
    <A extends (number | boolean)[], R>(name: string, call: (...args: A) => R) =>
    (...args: A): R => {
      try {
        return call(...args)
      } catch (error) {
        throw new SheafError(ErrorCode.Internal, `vector kernel failed in ${name}(${args.join(', ')})`, {
          cause: error,
        })
      }
    }
  return {
    measureRange: guard('measureRange', kernel.measureRange),
    measureList: guard('measureList', kernel.measureList),
    search: guard('search', kernel.search),
    sumWords: guard('sumWords', kernel.sumWords),
    openNearest: guard('openNearest', kernel.openNearest),
    offerNearest: guard('offerNearest', kernel.offerNearest),
    closeNearest: guard('closeNearest', kernel.closeNearest),
    scanFloats: guard('scanFloats', kernel.scanFloats),
    scanBytes: guard('scanBytes', kernel.scanBytes),
    scanBits: guard('scanBits', kernel.scanBits),
    assignRows: guard('assignRows', kernel.assignRows),
    graphInsert: guard('graphInsert', kernel.graphInsert),
    graphOpen: guard('graphOpen', kernel.graphOpen),
    graphEnter: guard('graphEnter', kernel.graphEnter),
    graphClose: guard('graphClose', kernel.graphClose),
    squareColumns: guard('squareColumns', kernel.squareColumns),
    nearestColumns: guard('nearestColumns', kernel.nearestColumns),
    scanCodes: guard('scanCodes', kernel.scanCodes),
    roundTables: guard('roundTables', kernel.roundTables),
    scanNibbles: guard('scanNibbles', kernel.scanNibbles),
    rotate: guard('rotate', kernel.rotate),
    encodeSigns: guard('encodeSigns', kernel.encodeSigns),
    tabulateSigns: guard('tabulateSigns', kernel.tabulateSigns),
    scanSigns: guard('scanSigns', kernel.scanSigns),
  }
}

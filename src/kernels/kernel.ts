/**
 * Loads the WebAssembly modules. A module is compiled once. It is instantiated once per memory, or once per thread if
 * threads share a memory, because an instance has state in global variables. A trap inside a kernel becomes a
 * `SheafError`.
 */
import { assert, ErrorCode, SheafError } from '../errors.js'
import { sharedState } from '../primitives/shared-state.js'
import { sharedWasmBase64, wasmBase64 } from './wasm.generated.js'

/** The functions of `wasm/module.ts`. Addresses are offsets in the memory of the instance. */
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
  heldNearest(): number
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
  assignShorts(
    vectors: number,
    rows: number,
    dim: number,
    origin: number,
    least: number,
    groups: number,
    scales: number,
    panels: number,
    panelCount: number,
    bests: number,
    out: number,
  ): void
  nearPairs(
    vectors: number,
    rows: number,
    dim: number,
    origin: number,
    group: number,
    panels: number,
    panelCount: number,
    bounds: number,
    share: number,
    norms: number,
    pairs: number,
  ): number
  graphInsert(block: number, list: number, count: number, width: number): void
  graphOpen(block: number, width: number, some: boolean): void
  graphEnter(query: number, row: number, level: number): void
  graphSeed(query: number, list: number, count: number): void
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

/** The functions of a kernel that work on graphs. */
export type GraphKernel = Pick<
  Kernel,
  'graphInsert' | 'graphOpen' | 'graphEnter' | 'graphSeed' | 'graphClose'
>

/** The functions of `wasm/shared.ts`. */
export interface SharedKernel extends Kernel {
  graphJoin(block: number, list: number, count: number): void
}

/** A `WebAssembly.Memory` that several threads share. It can be posted to threads. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer
}

/** A memory and the kernel that works in it. */
interface KernelMemory {
  /** The whole memory. It never grows, so views of it stay valid. */
  readonly buffer: ArrayBuffer
  readonly kernel: Kernel
}

/** The members of the global `WebAssembly` that are used here. Some hosts do not have this global. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
  readonly Memory: {
    new (pages: { initial: number; maximum: number }): { readonly buffer: ArrayBuffer }
    new (pages: { initial: number; maximum: number; shared: true }): SharedMemory
  }
}

const pageBytes = 65_536

/**
 * Maximum number of memories of a process. Each memory takes gigabytes of address space, and two of the process's
 * memory mappings (65,530 on Linux). Near either limit, the JavaScript engine runs a garbage collection for every new
 * memory, and other allocations may fail.
 */
export const kernelsMax = 4096

/** Memories of this thread. `open`: current number. `most`: maximum number. */
const memories = sharedState('kernel memories', () => ({ open: 0, most: kernelsMax }))

/** Limit the memories of this thread to its share, if `threads` threads of the process open memories. */
export function shareKernels(threads: number): void {
  memories.most = Math.floor(kernelsMax / threads)
}

const api = (globalThis as { WebAssembly?: WebAssemblyApi }).WebAssembly
let compiled: object | null | undefined
let compiledShared: object | null | undefined
/** Counts freed memories. A memory is freed when its buffer is garbage collected. */
const freedMemories = new FinalizationRegistry<void>(() => {
  memories.open--
})

/**
 * Open a memory of at least `bytes` bytes, which are zeros, with a kernel. Returns null if the host does not support
 * SIMD, if there is not enough address space, or if the thread has its maximum number of memories.
 */
export function openKernel(bytes: number): KernelMemory | null {
  if (compiled === undefined) compiled = compile(wasmBase64)
  if (api === undefined || compiled === null) return null
  const { Memory } = api
  const memory = newMemory(bytes, pages => new Memory(pages))
  return memory && { buffer: memory.buffer, kernel: guarded(instanceOn(compiled, memory) as Kernel) }
}

/**
 * Open a memory of at least `bytes` bytes, which are zeros, that threads can share. Returns null in the same cases as
 * `openKernel`, and if the host does not support threads in WebAssembly.
 */
export function openSharedMemory(bytes: number): SharedMemory | null {
  if (api === undefined || compileShared() === null) return null
  const { Memory } = api
  return newMemory(bytes, pages => new Memory({ ...pages, shared: true }))
}

/**
 * Create this thread's kernel for a shared memory. The kernels of the threads share the memory, but each has its own
 * global variables.
 */
export function sharedKernelOn(memory: SharedMemory): SharedKernel {
  const module = compileShared()
  assert(module !== null, 'this host has no kernels for shared memory')
  const kernel = instanceOn(module, memory) as SharedKernel
  return { ...guarded(kernel), graphJoin: guard('graphJoin', kernel.graphJoin) }
}

function newMemory<M extends { readonly buffer: ArrayBufferLike }>(
  bytes: number,
  make: (pages: { initial: number; maximum: number }) => M,
): M | null {
  if (memories.open >= memories.most) return null
  const pages = Math.ceil(bytes / pageBytes)
  try {
    const memory = make({ initial: pages, maximum: pages })
    memories.open++
    freedMemories.register(memory.buffer, undefined)
    return memory
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function instanceOn(module: object, memory: object): unknown {
  return new api!.Instance(module, { env: { memory } }).exports
}

function compileShared(): object | null {
  if (compiledShared === undefined) compiledShared = compile(sharedWasmBase64)
  return compiledShared
}

/** Compile a module. Return null if the host does not support its features (SIMD, threads). */
function compile(base64: string): object | null {
  if (api === undefined) return null
  try {
    return new api.Module(Buffer.from(base64, 'base64'))
  } catch (error) {
    if ((error as Error).name === 'CompileError') return null
    throw error
  }
}

function guard<A extends (number | boolean)[], R>(name: string, call: (...args: A) => R): (...args: A) => R {
  return (...args) => {
    try {
      return call(...args)
    } catch (error) {
      throw new SheafError(ErrorCode.Internal, `vector kernel failed in ${name}(${args.join(', ')})`, {
        cause: error,
      })
    }
  }
}

function guarded(kernel: Kernel): Kernel {
  return {
    measureRange: guard('measureRange', kernel.measureRange),
    measureList: guard('measureList', kernel.measureList),
    search: guard('search', kernel.search),
    sumWords: guard('sumWords', kernel.sumWords),
    openNearest: guard('openNearest', kernel.openNearest),
    offerNearest: guard('offerNearest', kernel.offerNearest),
    heldNearest: guard('heldNearest', kernel.heldNearest),
    closeNearest: guard('closeNearest', kernel.closeNearest),
    scanFloats: guard('scanFloats', kernel.scanFloats),
    scanBytes: guard('scanBytes', kernel.scanBytes),
    scanBits: guard('scanBits', kernel.scanBits),
    assignRows: guard('assignRows', kernel.assignRows),
    assignShorts: guard('assignShorts', kernel.assignShorts),
    nearPairs: guard('nearPairs', kernel.nearPairs),
    graphInsert: guard('graphInsert', kernel.graphInsert),
    graphOpen: guard('graphOpen', kernel.graphOpen),
    graphEnter: guard('graphEnter', kernel.graphEnter),
    graphSeed: guard('graphSeed', kernel.graphSeed),
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

/** What there is to tell of a root, as data: `inspect --json` prints it as it is (docs/cli.md). */
import type { JobInfo } from '../../src/index.js'
import type { Reply } from '../../src/protocol/calls.js'

/** What a root is, and how it lies on the disk. */
export interface RootFacts {
  readonly path: string
  readonly id: string
  readonly format: number
  readonly slot: number
  readonly checkpoint: number
  /** Files, by what they hold. */
  readonly files: {
    readonly slots: number
    readonly checkpoints: number
    readonly pages: number
    readonly packs: number
  }
  readonly tables: number
}

export interface NamespaceFacts {
  readonly id: readonly string[]
  readonly properties: Readonly<Record<string, string>>
}

export interface TableFacts {
  readonly id: readonly string[]
  /** `declared`: no rows yet; `foreign`: its rows are kept by another engine; `damaged`: it cannot be read. */
  readonly kind: 'table' | 'view' | 'declared' | 'foreign' | 'damaged'
  readonly uuid?: string
  readonly location?: string
  readonly properties?: Readonly<Record<string, string>>
  /** The newest. */
  readonly version?: VersionFacts
  readonly rows?: number
  /** Rows that were deleted, and lie in its files. */
  readonly deadRows?: number
  /** Of its data, without indexes. */
  readonly bytes?: number
  readonly fragments?: number
  readonly indexes?: readonly IndexFacts[]
  readonly tags?: readonly TagFacts[]
  /** Of a view: what it shows. */
  readonly view?: { readonly source: string | null; readonly version: number | null; readonly query: string }
  /** What is wrong with it. */
  readonly problem?: string
}

export interface VersionFacts {
  readonly version: number
  /** RFC 3339. */
  readonly time: string | null
  /** What made it; null where another engine did. */
  readonly operation: string | null
}

export interface TagFacts {
  readonly name: string
  readonly version: number
}

export interface IndexFacts {
  readonly name: string
  readonly type: string
  readonly columns: readonly string[]
  readonly status: string
  readonly rows: number
  /** Rows that it lacks. */
  readonly unindexedRows: number
  readonly segments: number
  readonly bytes: number
  readonly created: string
  /** What it was made with. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly reason?: string
}

export interface ColumnFacts {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly metadata: Readonly<Record<string, string>>
}

export interface TableDetails extends TableFacts {
  readonly columns: readonly ColumnFacts[]
  readonly metadata: Readonly<Record<string, string>>
  /** The newest ten, newest first. */
  readonly versions: readonly VersionFacts[]
  /** Living rows of a fragment. */
  readonly fragmentRows: Reply<'getTableStats'>['fragment_stats']['lengths'] | null
}

/** A job that has not ended, or has failed lately. */
export interface JobFacts extends Pick<JobInfo, 'id' | 'type' | 'table' | 'state'> {
  readonly progress?: Reply<'describeJob'>['progress'] | undefined
  /** Why it failed. */
  readonly reason?: string | undefined
}

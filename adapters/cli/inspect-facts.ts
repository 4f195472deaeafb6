/** What `inspect` finds in a root, as data. `inspect --json` prints it unchanged (docs/cli.md). */
import type { JobInfo } from '../../src/index.js'
import type { Reply } from '../../src/protocol/calls.js'

/** Facts about a root and its files. */
export interface RootFacts {
  readonly path: string
  readonly id: string
  readonly format: number
  readonly slot: number
  readonly checkpoint: number
  /** Number of files, by content. */
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
  /** `declared`: no rows yet; `foreign`: another engine stores its rows; `damaged`: it cannot be read. */
  readonly kind: 'table' | 'view' | 'declared' | 'foreign' | 'damaged'
  readonly uuid?: string
  readonly location?: string
  readonly properties?: Readonly<Record<string, string>>
  /** The newest version. */
  readonly version?: VersionFacts
  readonly rows?: number
  /** Rows that are deleted, but still in its files. */
  readonly deadRows?: number
  /** Bytes of its data, without indexes. */
  readonly bytes?: number
  readonly fragments?: number
  readonly indexes?: readonly IndexFacts[]
  readonly tags?: readonly TagFacts[]
  /** For a view: what it shows. */
  readonly view?: { readonly source: string | null; readonly version: number | null; readonly query: string }
  /** Why it cannot be read. */
  readonly problem?: string
}

export interface VersionFacts {
  readonly version: number
  /** RFC 3339. */
  readonly time: string | null
  /** The operation that created it; null if another engine did. */
  readonly operation: string | null
}

interface TagFacts {
  readonly name: string
  readonly version: number
}

export interface IndexFacts {
  readonly name: string
  readonly type: string
  readonly columns: readonly string[]
  readonly status: string
  readonly rows: number
  /** Rows that are not in the index. */
  readonly unindexedRows: number
  readonly segments: number
  readonly bytes: number
  readonly created: string
  /** The options with which it was built. */
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
  /** Live rows per fragment. */
  readonly fragmentRows: Reply<'getTableStats'>['fragment_stats']['lengths'] | null
}

/** A job that has not ended, or that failed recently. */
export interface JobFacts extends Pick<JobInfo, 'id' | 'type' | 'table' | 'state'> {
  readonly progress?: Reply<'describeJob'>['progress'] | undefined
  /** Why the job failed. */
  readonly reason?: string | undefined
}

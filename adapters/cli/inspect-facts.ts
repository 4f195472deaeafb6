/** The data types of the output of `sheaf inspect`. `inspect --json` prints these objects unchanged (docs/cli.md). */
import type { JobInfo } from '../../src/index.js'
import type { Reply } from '../../src/protocol/calls.js'

/** Facts about a root and its files. */
/** Facts about a directory of LanceDB. */
export interface DirectoryFacts {
  readonly path: string
  /** Number of tables. */
  readonly tables: number
}

export interface RootFacts extends DirectoryFacts {
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
}

export interface NamespaceFacts {
  readonly id: readonly string[]
  readonly properties: Readonly<Record<string, string>>
}

export interface TableFacts {
  readonly id: readonly string[]
  /** `declared`: has no rows yet. `foreign`: another engine stores its rows. `damaged`: cannot be read. */
  readonly kind: 'table' | 'view' | 'declared' | 'foreign' | 'damaged'
  readonly uuid?: string
  readonly location?: string
  readonly properties?: Readonly<Record<string, string>>
  /** The newest version. */
  readonly version?: VersionFacts
  readonly rows?: number
  /** Number of deleted rows that its files still contain. */
  readonly deadRows?: number
  /** Bytes of its data files, without indexes. */
  readonly bytes?: number
  readonly fragments?: number
  readonly indexes?: readonly IndexFacts[]
  readonly tags?: readonly TagFacts[]
  /** For a view: its source table, the source version that it shows, and its query. */
  readonly view?: { readonly source: string | null; readonly version: number | null; readonly query: string }
  /** For a damaged table: why it cannot be read. */
  readonly problem?: string
}

export interface VersionFacts {
  readonly version: number
  /** Time of the commit, in RFC 3339 format. Null if unknown. */
  readonly time: string | null
  /** The operation that created the version, for example `insert`. Null if another engine created it. */
  readonly operation: string | null
}

export interface TagFacts {
  readonly name: string
  readonly version: number
  /** Whether LanceDB keeps the tag in the folder of the table, and the log of the root does not have it. */
  readonly directory?: true
}

export interface IndexFacts {
  readonly name: string
  readonly type: string
  readonly columns: readonly string[]
  readonly status: string
  readonly rows: number
  /** Number of rows that are not in the index. */
  readonly unindexedRows: number
  readonly segments: number
  readonly bytes: number
  readonly created: string
  /** The options of the index, such as its distance. */
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
  /** The ten newest versions, newest first. */
  readonly versions: readonly VersionFacts[]
  /** Statistics of the number of live rows per fragment. Null for a table of another engine. */
  readonly fragmentRows: Reply<'getTableStats'>['fragment_stats']['lengths'] | null
}

/** A job that has not ended, or that failed recently. */
export interface JobFacts extends Pick<JobInfo, 'id' | 'type' | 'table' | 'state'> {
  readonly progress?: Reply<'describeJob'>['progress'] | undefined
  /** Why the job failed. */
  readonly reason?: string | undefined
}

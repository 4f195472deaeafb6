/**
 * The formats of files that `import` reads, in the order in which a content is compared with them: CSV, which is any
 * text, is the last. `source-formats.ts` has their readers.
 */
export const fileFormatNames = ['arrow', 'parquet', 'sqlite', 'hnswlib', 'jsonl', 'csv'] as const

export type FileFormatName = (typeof fileFormatNames)[number]

/** The names of all source formats. A source with the format lance is a folder: see `lance-source.ts`. */
export const formatNames = ['lance', ...fileFormatNames] as const

export type FormatName = (typeof formatNames)[number]

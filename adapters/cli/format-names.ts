/**
 * The names of the source formats of `import`, in the order in which a content is compared with them: CSV, which is any
 * text, is the last. `source-formats.ts` has their readers.
 */
export const formatNames = ['arrow', 'parquet', 'jsonl', 'csv'] as const

export type FormatName = (typeof formatNames)[number]

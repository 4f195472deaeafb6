/** The exports of `sheaf/files`. */

export type { ReadCsvOptions } from './csv-options.js'
export type { FileRows } from './pieces.js'
export { readArrow } from './read-arrow.js'
export { readCsv } from './read-csv.js'
export { type ReadJsonLinesOptions, readJsonLines } from './read-json-lines.js'
export type { FileSource, ReadOptions } from './source.js'
export type { FileTarget, WriteOptions, Written } from './target.js'
export { type WriteArrowOptions, writeArrow } from './write-arrow.js'
export { type WriteCsvOptions, writeCsv } from './write-csv.js'
export { writeJsonLines } from './write-json-lines.js'

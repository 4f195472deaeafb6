/** Finds the file that has a column of a fragment. */
import type { DataFile, Fragment } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'

/** Return the newest file of a fragment with the column of `field`. Return undefined if no file has the column. */
export function fileOf({ files }: Fragment, { id }: TableField): DataFile | undefined {
  for (let i = files.length - 1; i >= 0; i--) if (files[i]!.fields.includes(id)) return files[i]
  return undefined
}

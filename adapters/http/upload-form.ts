/** Determines the form in which a client sends rows, from the header field Content-Type. */
import { invalidInput, quote, type SheafError } from '../../src/errors.js'
import {
  arrowFile,
  arrowStream,
  csvText,
  jsonLines,
  jsonText,
  type MediaType,
  readMediaType,
} from './media-types.js'

/** The forms of an upload. `arrow`: an IPC stream or an IPC file. */
export type UploadForm = 'arrow' | 'json' | 'ndjson' | 'csv'

/**
 * Return the form of an upload. The form is Arrow if there is no content type, or if it is `application/octet-stream`.
 * Throws InvalidInput with status 415 for other types.
 */
export function uploadForm(contentType: string | undefined): UploadForm {
  if (contentType === undefined || contentType.trim() === '') return 'arrow'
  const type = readMediaType(contentType)
  const form = formOf(type)
  if (form === null) throw unknownType(contentType)
  return form
}

function formOf({ name, parameters }: MediaType): UploadForm | null {
  const isUtf8 = /^utf-?8$/i.test(parameters.get('charset') ?? 'utf-8')
  switch (name) {
    case arrowStream:
    case arrowFile:
    case 'application/octet-stream':
      return 'arrow'
    case jsonText:
      return isUtf8 ? 'json' : null
    case csvText:
      return isUtf8 && (parameters.get('header') ?? 'present') === 'present' ? 'csv' : null
    default:
      return isUtf8 && jsonLines.includes(name) ? 'ndjson' : null
  }
}

function unknownType(contentType: string): SheafError {
  const known = [arrowStream, arrowFile, jsonText, ...jsonLines, csvText].join(', ')
  return invalidInput(`rows with the content type ${quote(contentType)} are not supported`, {
    hint: `send one of ${known}; text is UTF-8, and CSV has a header row`,
    status: 415,
  })
}

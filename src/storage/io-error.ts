/** What the operating system refused, as an error that tells the caller what to do. */
import { ErrorCode, quote, SheafError } from '../errors.js'

interface Cause {
  readonly code: ErrorCode
  readonly what: string
  readonly hint?: string
}

const denied = { code: ErrorCode.PermissionDenied, hint: 'check the owner and the mode of the directory' }
const full = { code: ErrorCode.ServiceUnavailable, hint: 'make room on the disk' }
const crowded = { code: ErrorCode.ServiceUnavailable, hint: 'raise the limit of open files (ulimit -n)' }

const causes: Readonly<Record<string, Cause>> = {
  EACCES: { ...denied, what: 'permission denied' },
  EPERM: { ...denied, what: 'operation not permitted' },
  EROFS: { ...denied, what: 'the file system is read-only', hint: 'open the root with readOnly: true' },
  ELOOP: {
    code: ErrorCode.PermissionDenied,
    what: 'a symbolic link stands in the way',
    hint: 'links inside a root are never followed: replace it with what it points to',
  },
  ENOSPC: { ...full, what: 'no space left' },
  EDQUOT: { ...full, what: 'the disk quota is used up' },
  EMFILE: { ...crowded, what: 'too many files are open in this process' },
  ENFILE: { ...crowded, what: 'too many files are open on this machine' },
  ENOENT: { code: ErrorCode.ServiceUnavailable, what: 'its directory is gone' },
  EIO: { code: ErrorCode.ServiceUnavailable, what: 'the device reported an error' },
}

/** The system's code of an error thrown by node:fs, or undefined. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/**
 * An error of node:fs as a SheafError: code 15 where permission is missing, 17 for everything else the system
 * refuses. `action` completes "cannot ...". An error that does not come from the system is returned as it is.
 */
export function ioError(error: unknown, action: string, path: string): unknown {
  const code = systemCode(error)
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error
  const cause = causes[code]
  const what = cause === undefined ? code : `${cause.what} (${code})`
  const message = `cannot ${action} ${quote(path)}: ${what}`
  return new SheafError(cause?.code ?? ErrorCode.ServiceUnavailable, message, {
    hint: cause?.hint,
    cause: error,
  })
}

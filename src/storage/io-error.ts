/** Converts errors of the operating system to errors that tell the caller what to do. */
import { types } from 'node:util'
import { ErrorCode, quote, SheafError } from '../errors.js'

interface Cause {
  readonly code: ErrorCode
  readonly what: string
  readonly hint?: string
}

const denied = { code: ErrorCode.PermissionDenied, hint: 'check the owner and the mode of the directory' }
const full = { code: ErrorCode.ServiceUnavailable, hint: 'free space on the disk' }
const crowded = { code: ErrorCode.ServiceUnavailable, hint: 'raise the limit of open files (ulimit -n)' }

const causes: Readonly<Record<string, Cause>> = {
  EACCES: { ...denied, what: 'permission denied' },
  EPERM: { ...denied, what: 'operation not permitted' },
  EROFS: { ...denied, what: 'the file system is read-only', hint: 'open the root with readOnly: true' },
  ELOOP: {
    code: ErrorCode.PermissionDenied,
    what: 'the path contains a symbolic link',
    hint: 'Sheaf does not follow links inside a root: replace the link with its target',
  },
  ENOSPC: { ...full, what: 'no space left' },
  EDQUOT: { ...full, what: 'the disk quota is used up' },
  EMFILE: { ...crowded, what: 'too many files are open in this process' },
  ENFILE: { ...crowded, what: 'too many files are open on this machine' },
  ENOENT: { code: ErrorCode.ServiceUnavailable, what: 'the directory no longer exists' },
  EIO: { code: ErrorCode.ServiceUnavailable, what: 'the device reported an error' },
}

/**
 * Return the system's error code (such as `ENOENT`) of an error that node:fs threw. Returns undefined for any other
 * error. Uses `isNativeError`, because under Jest the errors of Node are not instances of the global `Error`.
 */
export function systemCode(error: unknown): string | undefined {
  const code = types.isNativeError(error) && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

const noDirectorySync: ReadonlySet<string | undefined> = new Set([
  'EINVAL',
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
])

/** Return whether a sync of a directory failed because its file system cannot sync directories. */
export function lacksDirectorySync(error: unknown): boolean {
  return noDirectorySync.has(systemCode(error))
}

/**
 * Convert an error of node:fs to a SheafError: `PermissionDenied` if permission is missing, otherwise
 * `ServiceUnavailable`. `action`: a verb that completes "cannot ...". An error that does not come from the system is
 * returned unchanged.
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

/** Finds npm. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Return npm as a program and its first arguments. If possible, this is the JavaScript file of npm: on Windows, `npm` is a
 * batch file. A batch file needs a shell, and a shell divides paths at spaces.
 */
export function npmCommand() {
  const besideNode = join(dirname(process.execPath), 'node_modules', 'npm', 'bin', 'npm-cli.js')
  const file = [process.env.npm_execpath, besideNode].find(
    path => path !== undefined && basename(path) === 'npm-cli.js' && existsSync(path),
  )
  return file === undefined ? ['npm'] : [process.execPath, file]
}

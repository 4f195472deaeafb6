/** Uses every part, imported. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as sheaf from 'sheaf'
import * as files from 'sheaf/files'
import * as http from 'sheaf/http'
import * as protocol from 'sheaf/protocol'
import * as worker from 'sheaf/worker'
import parts from './every-part.cjs'

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-runtime-'))
  console.log(await parts.everyPart({ sheaf, http, worker, files, protocol }, { assert, join }, folder))
  rmSync(folder, { recursive: true })
}

main()

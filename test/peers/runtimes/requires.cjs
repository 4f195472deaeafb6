/** Uses every part, required. */
const assert = require('node:assert/strict')
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const sheaf = require('sheaf')
const files = require('sheaf/files')
const http = require('sheaf/http')
const protocol = require('sheaf/protocol')
const worker = require('sheaf/worker')
const { everyPart } = require('./every-part.cjs')

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-runtime-'))
  console.log(await everyPart({ sheaf, http, worker, files, protocol }, { assert, join }, folder))
  rmSync(folder, { recursive: true })
}

main()

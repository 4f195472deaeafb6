#!/usr/bin/env node
/**
 * Starts the program `sheaf` (program.ts) with the compile cache of Node, which Node 22.8 and newer have: later starts
 * take about two thirds of the time. Node keeps the cache in the temporary folder of the system. Only the program turns
 * the cache on, never the library, because the cache is a decision of the process.
 */
import * as nodeModule from 'node:module'

const { enableCompileCache } = nodeModule as { readonly enableCompileCache?: () => unknown }
enableCompileCache?.()
// The path is not a literal, because a bundler must not join the program with this file.
const program = './program.js'
await import(program)

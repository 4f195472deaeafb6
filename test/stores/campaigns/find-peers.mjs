/** Import this module before a program to let the built package find the clients of the tests. */
import { register } from 'node:module'

const hooks = `
  const clients = /^(@aws-sdk\\/client-s3|pg)$/
  const tests = ${JSON.stringify(new URL('../package.json', import.meta.url).href)}
  export function resolve(name, context, next) {
    return next(name, clients.test(name) ? { ...context, parentURL: tests } : context)
  }`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)

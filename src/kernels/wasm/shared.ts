/**
 * The functions that JavaScript may call on memory shared by several threads. Each thread has an instance of its own.
 */
export * from './module'
export { graphJoin } from './graph'

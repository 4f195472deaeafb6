/**
 * Exports the functions that JavaScript may call on memory that several threads share. Each thread has its own
 * instance.
 */
export * from './module'
export { graphJoin } from './graph'

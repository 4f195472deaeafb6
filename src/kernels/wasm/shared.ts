/** What JavaScript may call where the memory is shared by several threads, each with an instance of its own. */
export * from './module'
export { graphJoin } from './graph'

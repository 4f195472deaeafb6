/** What JavaScript may call where the memory is shared by several threads, each with an instance of its own. */
export { graphClose, graphEnter, graphInsert, graphJoin, graphOpen } from './graph'

/** What a job that builds an index is told. */
export { type IndexSpec, indexJob } from '../catalog/index-builds.js'

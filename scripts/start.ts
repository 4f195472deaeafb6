/**
 * Runs `npm start`: a demonstration of Sheaf on real data, with timings.
 *
 *     npm start               the documentation of the installed packages, which every checkout has
 *     npm start -- --fashion  60,000 images as vectors of 784 bytes, if the folder SHEAF_DATA has them
 */
import { dataPath } from './data.js'
import { searchDocumentation } from './start/documentation.js'
import { searchImages } from './start/images.js'

const fashion = ['vectors', 'fashion-mnist'] as const

if (!process.argv.includes('--fashion')) {
  await searchDocumentation('node_modules', '.sheaf-demo/documentation')
} else {
  const folder = dataPath(...fashion)
  if (folder === null) {
    console.error(
      `the data set Fashion-MNIST was not found: set SHEAF_DATA to a folder that contains ${fashion.join('/')}`,
    )
    process.exitCode = 1
  } else {
    await searchImages(folder, '.sheaf-demo/images')
  }
}

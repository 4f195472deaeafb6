/** Shows `notes.ts` at work. Run `npm run build`, then `node dist/examples/notes-search/main.js`. */
import { connect } from 'sheaf'
import {
  countByFolder,
  countByTag,
  findByBoth,
  findByMeaning,
  findByWords,
  openNotes,
  saveNotes,
} from './notes.js'

/** A stand-in for an embedding model: texts with the same beginnings of words are near. */
async function embed(text: string): Promise<Float32Array> {
  const embedding = new Float32Array(64)
  for (const word of text.toLowerCase().match(/\p{L}{4,}/gu) ?? []) {
    const hash = Array.from(word.slice(0, 4)).reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7)
    embedding[hash % 64] = 1
  }
  return embedding
}

const edited = new Date('2026-03-01')
const page = { number: 0, size: 2 }

const ns = await connect('memory://')
const notes = await openNotes(ns)
await saveNotes(
  notes,
  [
    { id: 'a', title: 'Bread', text: 'Flour, water & salt.', folder: 'kitchen', tags: ['recipe'], edited },
    { id: 'b', title: 'Pizza', text: 'Flour, oil and yeast.', folder: 'kitchen', tags: ['recipe'], edited },
    { id: 'c', title: 'Tomatoes', text: 'They need water.', folder: 'garden', tags: ['plants'], edited },
  ],
  embed,
)

console.log('near "bakers floured it":', await findByMeaning(notes, await embed('floured'), {}, page))
console.log('with "water":', await findByWords(notes, 'water', {}, page))
const query = { words: 'water', embedding: await embed('tomato') }
console.log('both, in the garden:', await findByBoth(notes, query, { folder: 'garden' }, page))
console.log('folders with "water":', await countByFolder(notes, 'water'))
console.log('tags:', await countByTag(notes, {}))
await ns.close()

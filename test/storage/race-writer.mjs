// One of several processes racing for the same names: argv is the compiled file store, a directory, a name for this
// process, and the number of rounds. Prints the rounds it won.
const [module, directory, writer, rounds] = process.argv.slice(2)
const { FileStore } = await import(module)
const store = await FileStore.open(directory, { create: true, readOnly: false })
const won = []
for (let round = 0; round < Number(rounds); round++) {
  const outcome = await store.putIfAbsent(`race/${round}`, new TextEncoder().encode(writer))
  if (outcome === 'won') won.push(round)
}
console.log(JSON.stringify(won))

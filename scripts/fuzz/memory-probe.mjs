// Loaded into the fuzzed app: on SIGUSR2, collects garbage and writes the memory usage to the file ZIN_FUZZ_MEMORY.
import { renameSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const file = process.env.ZIN_FUZZ_MEMORY
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

process.on('SIGUSR2', () => {
  collect()
  collect()
  writeFileSync(`${file}.new`, JSON.stringify(process.memoryUsage()))
  renameSync(`${file}.new`, file)
})

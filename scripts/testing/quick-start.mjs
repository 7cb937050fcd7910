// For processes that end within seconds: V8 uses only its baseline compiler for WebAssembly, and optimizes only long-running JavaScript.
// Optimizing took a quarter of the CPU time of a test that starts the embedded queue.
import { setFlagsFromString } from 'node:v8'

setFlagsFromString('--liftoff-only')
// Later versions of V8 count differently and refuse the flag.
if (process.version.startsWith('v20.')) setFlagsFromString('--interrupt-budget=660000')

// Hosts of one process share the compiled database.
const { compile } = WebAssembly
const compiled = []
WebAssembly.compile = (bytes) => {
  const known = compiled.find((one) => one.bytes.length === bytes.length && one.bytes.equals(bytes))
  if (known !== undefined) return known.module
  compiled.push({ bytes, module: compile(bytes) })
  return compiled.at(-1).module
}

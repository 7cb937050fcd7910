// For processes that end within seconds: V8 leaves WebAssembly as its first compiler makes it, and optimizes only JavaScript that runs long.
// Optimizing took a fourth of the processor time of a test that starts the embedded queue.
import { setFlagsFromString } from 'node:v8'

setFlagsFromString('--liftoff-only')
// Later versions of V8 count differently and refuse the flag.
if (process.version.startsWith('v20.')) setFlagsFromString('--interrupt-budget=660000')

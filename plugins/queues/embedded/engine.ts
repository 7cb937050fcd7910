import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { PGlite } from '@electric-sql/pglite'

/** PGlite as code and as compiled WebAssembly. */
export interface Engine {
  readonly PGlite: typeof PGlite
  readonly wasm: WebAssembly.Module
}

/** Other threads compile while this one goes on: begun early, it costs the boot next to nothing. */
export async function loadEngine(): Promise<Engine> {
  const file = createRequire(import.meta.url).resolve('@electric-sql/pglite/pglite.wasm')
  const [wasm, { PGlite }] = await Promise.all([readFile(file).then((bytes) => WebAssembly.compile(bytes)), import('@electric-sql/pglite')])
  return { PGlite, wasm }
}

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { PGlite, PGliteOptions } from '@electric-sql/pglite'
import { initDbParams, settings } from './parameters.js'

/** PGlite as code and as compiled WebAssembly. */
export interface Engine {
  readonly PGlite: typeof PGlite
  readonly wasm: WebAssembly.Module
}

/** Compiles on other threads: started early, it adds almost nothing to the boot time. */
export async function loadEngine(): Promise<Engine> {
  const file = createRequire(import.meta.url).resolve('@electric-sql/pglite/pglite.wasm')
  const [wasm, { PGlite }] = await Promise.all([readFile(file).then((bytes) => WebAssembly.compile(bytes)), import('@electric-sql/pglite')])
  return { PGlite, wasm }
}

/** Opens the data directory `dir`, or creates it in the empty folder `dir`. */
export async function startEngine({ PGlite, wasm }: Engine, dir: string, fsync: boolean): Promise<PGlite> {
  class ProtocolPglite extends PGlite {
    /** Would read all types for PGlite's own query methods, which are not used here; it takes a seventh of the opening time. */
    override _initArrayTypes(): Promise<void> {
      return Promise.resolve()
    }
  }
  const db = new ProtocolPglite({
    initDbStartParams: [...initDbParams],
    pgliteWasmModule: wasm,
    ...(fsync ? await synced(PGlite, dir) : { dataDir: dir, startParams: [...PGlite.defaultStartParams, ...tuned] }),
  })
  await db.waitReady
  return db
}

const tuned = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

async function synced({ defaultStartParams }: typeof PGlite, dir: string): Promise<PGliteOptions> {
  const { fsyncNodeFs } = await import('./fsync-fs.js')
  // `-F` is "no fsync"; fdatasync, the default of the log, does nothing in this build.
  const startParams = [...defaultStartParams.filter((param) => param !== '-F'), '-c', 'wal_sync_method=fsync', ...tuned]
  return { fs: await fsyncNodeFs(dir), startParams }
}

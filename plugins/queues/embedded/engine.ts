import { closeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { PGlite, PGliteOptions } from '@electric-sql/pglite'
import { initDbParams, settings } from './parameters.js'
import type { ProtocolMessage } from './response.js'

/** PGlite as code and as compiled WebAssembly. */
export interface Engine {
  readonly PGlite: typeof PGlite
  readonly wasm: WebAssembly.Module
}

/** A running PostgreSQL. */
export interface Postgres {
  onNotification(callback: (channel: string, payload: string) => void): void
  /** Runs one protocol message. Rejects when PostgreSQL has ended; it must then be abandoned. */
  run(request: Uint8Array): Promise<readonly ProtocolMessage[]>
  close(): Promise<void>
  /** Releases what one that has ended holds. */
  abandon(): void
}

/** The parts of the WebAssembly module that are used here. */
interface Module {
  _PostgresMainLoopOnce(): void
  _PostgresSendReadyForQueryIfNecessary(): void
  _pgl_pq_flush(): void
  _clear_setitimer(): void
  stackRestore(pointer: number): void
  readonly FS: { readonly streams: readonly ({ readonly nfd?: number } | null | undefined)[] }
}

/** The status with which PGlite's PostgreSQL leaves a statement that failed; with any other it has ended. */
const failedStatement = 100

/** Compiles on other threads: started early, it adds almost nothing to the boot time. */
export async function loadEngine(): Promise<Engine> {
  const file = createRequire(import.meta.url).resolve('@electric-sql/pglite/pglite.wasm')
  const [wasm, { PGlite }] = await Promise.all([readFile(file).then((bytes) => WebAssembly.compile(bytes)), import('@electric-sql/pglite')])
  return { PGlite, wasm }
}

/** Opens the data directory `dir`, or creates it in the empty folder `dir`. */
export async function startEngine({ PGlite, wasm }: Engine, dir: string, fsync: boolean): Promise<Postgres> {
  class ProtocolPglite extends PGlite implements Postgres {
    /** Would read all types for PGlite's own query methods, which are not used here; it takes a seventh of the opening time. */
    override _initArrayTypes(): Promise<void> {
      return Promise.resolve()
    }

    async run(request: Uint8Array): Promise<readonly ProtocolMessage[]> {
      const messages = await this.execProtocolStream(request, { syncToFs: false, throwOnError: false })
      return messages as unknown as readonly ProtocolMessage[]
    }

    abandon(): void {
      if (this.mod) release(this.mod as unknown as Module)
      delete this.mod
    }

    stopWhenEnded(): void {
      if (this.mod) stopWhenEnded(this.mod as unknown as Module)
    }
  }
  const db = new ProtocolPglite({
    initDbStartParams: [...initDbParams],
    pgliteWasmModule: wasm,
    ...(fsync ? await synced(PGlite, dir) : { dataDir: dir, startParams: [...PGlite.defaultStartParams, ...tuned] }),
  })
  try {
    await db.waitReady
  } catch (error) {
    db.abandon()
    throw error
  }
  db.stopWhenEnded()
  return db
}

/**
 * Makes a PostgreSQL that has ended, for example because its log could not be written, reject the statement. PGlite would ignore that it has
 * ended and continue with it, and it would then loop without end.
 */
function stopWhenEnded(module: Module): void {
  const { _PostgresMainLoopOnce: loop, _PostgresSendReadyForQueryIfNecessary: sendReady, _pgl_pq_flush: flush, stackRestore } = module
  let ended: { readonly cause: unknown } | undefined
  module._PostgresMainLoopOnce = () => {
    try {
      loop()
    } catch (error) {
      if ((error as { readonly status?: unknown }).status !== failedStatement) ended = { cause: error }
      throw error
    }
  }
  // PGlite calls this first after an error.
  module.stackRestore = (pointer) => {
    if (ended) throw ended.cause
    stackRestore(pointer)
  }
  module._PostgresSendReadyForQueryIfNecessary = () => void (ended ?? sendReady())
  module._pgl_pq_flush = () => void (ended ?? flush())
}

/** Closes the files and the timer of a PostgreSQL that has ended. */
function release({ FS, _clear_setitimer: clearTimer }: Module): void {
  const files = new Set(FS.streams.flatMap((stream) => stream?.nfd ?? []))
  for (const step of [clearTimer, ...[...files].map((file) => () => closeSync(file))]) {
    try {
      step()
    } catch {
      // The file is closed already.
    }
  }
}

const tuned = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

async function synced({ defaultStartParams }: typeof PGlite, dir: string): Promise<PGliteOptions> {
  const { fsyncNodeFs } = await import('./fsync-fs.js')
  // `-F` is "no fsync"; fdatasync, the default of the log, does nothing in this build.
  const startParams = [...defaultStartParams.filter((param) => param !== '-F'), '-c', 'wal_sync_method=fsync', ...tuned]
  return { fs: await fsyncNodeFs(dir), startParams }
}

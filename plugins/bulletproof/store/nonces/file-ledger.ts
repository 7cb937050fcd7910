import { appendFile, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from 'zin'
import { CLOCK_TOLERANCE_MS, type Ledger } from './ledger.js'

/** Nonces that end within the same span share a file, which goes as a whole, in ms. Longer than any nonce is kept. */
const SPAN = 15 * 60_000

/**
 * A ledger of lines in files, for apps without a database: it outlives the process, and every process on this machine that
 * has the same data folder may use it.
 *
 * @param shared whether other processes write too; then the files are looked at each time, and what is only a little ahead
 *   need not go through here. Alone, everything ahead does.
 */
export function fileLedger(folder: string, clock: Clock, shared: boolean): Ledger {
  const taken = new Map<string, number>()
  const sizes = new Map<string, number>()
  const aheadMs = shared ? CLOCK_TOLERANCE_MS : 0

  const load = async (): Promise<void> => {
    for (const name of await readdir(folder)) {
      const file = join(folder, name)
      const { size } = await stat(file)
      if (sizes.get(name) === size) continue
      sizes.set(name, size)
      for (const line of (await readFile(file, 'utf8')).split('\n')) {
        const [key = '', until] = line.split(' ')
        if (Number(until) >= clock.now()) taken.set(key, Number(until))
      }
    }
  }
  const isTaken = (key: string): boolean => (taken.get(key) ?? 0) >= clock.now()

  return {
    driver: 'file',
    aheadMs,
    marginMs: 2 * aheadMs,
    async begin() {
      const made = await mkdir(folder, { recursive: true, mode: 0o700 })
      await load()
      return made !== undefined
    },
    has: (key) => (shared ? load().then(() => isTaken(key)) : isTaken(key)),
    async claim(key, until) {
      if (shared) await load()
      if (isTaken(key)) return false
      taken.set(key, until)
      await appendFile(join(folder, String(Math.floor(until / SPAN))), `${key} ${until}\n`, { mode: 0o600 })
      return true
    },
    async sweep() {
      const now = clock.now()
      for (const [key, until] of taken) if (until < now) taken.delete(key)
      for (const name of await readdir(folder)) {
        if ((Number(name) + 1) * SPAN >= now) continue
        await rm(join(folder, name), { force: true })
        sizes.delete(name)
      }
    },
  }
}

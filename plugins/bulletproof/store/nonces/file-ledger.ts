import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from 'zin'
import { createJournal, syncFolder } from './journal.js'
import { CLOCK_TOLERANCE_MS, type Ledger } from './ledger.js'
import { sharedRuns } from './shared-runs.js'

/** Nonces that end within the same span share a file, which goes as a whole, in ms. Longer than any nonce is kept. */
const SPAN = 15 * 60_000

/** No machine is back within this time from a power cut, in ms: what is dated less ahead is older than the app when it begins anew. */
const OUTAGE_MS = 1_000

/**
 * A ledger of lines in files, for apps without a database: it outlives the process, and every process on this machine that
 * has the same data folder may use it. What matters after a power cut is on the disk before a claim returns; claims that
 * come together wait for it together.
 *
 * @param shared whether other processes write too; then the files are looked at each time, and what is only a little ahead
 *   need not go through here. Alone, everything ahead does.
 */
export function fileLedger(folder: string, clock: Clock, shared: boolean): Ledger {
  const taken = new Map<string, number>()
  const sizes = new Map<string, number>()
  const aheadMs = shared ? CLOCK_TOLERANCE_MS : 0
  const marginMs = 2 * aheadMs
  const written = createJournal(folder, false)
  const onDisk = createJournal(folder, true)

  const read = async (name: string): Promise<void> => {
    const file = join(folder, name)
    const { size } = await stat(file)
    if (sizes.get(name) === size) return
    for (const line of (await readFile(file, 'utf8')).split('\n')) {
      const [key = '', until] = line.split(' ')
      if (Number(until) >= clock.now()) taken.set(key, Number(until))
    }
    // Last, so that a file that was not read is not taken for one that was.
    sizes.set(name, size)
  }
  const load = sharedRuns(async () => {
    for (const name of await readdir(folder)) await read(name).catch(unlessGone)
  })
  const isTaken = (key: string): boolean => (taken.get(key) ?? 0) >= clock.now()

  return {
    driver: 'file',
    aheadMs,
    marginMs,
    async begin() {
      const made = await mkdir(folder, { recursive: true, mode: 0o700 })
      if (made !== undefined) await syncFolder(dirname(made))
      await load()
      return made !== undefined
    },
    has: (key) => (shared ? load().then(() => isTaken(key)) : isTaken(key)),
    async claim(key, timestamp, until) {
      if (shared) await load()
      if (isTaken(key)) return false
      // The process that sweeps may be ahead of one that would still take the request.
      const end = until + marginMs
      taken.set(key, end)
      const append = timestamp > clock.now() + OUTAGE_MS ? onDisk : written
      await append(String(Math.floor(end / SPAN)), `${key} ${end}`)
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

/** Another process may have swept the file away, and then it held nothing that counts. */
function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from 'zin'
import { createJournal, syncFolder } from './journal.js'
import { CLOCK_TOLERANCE_MS, type Ledger } from './ledger.js'
import { sharedRuns } from './shared-runs.js'

/** Nonces that expire within the same span share a file, which is deleted as a whole; in ms. Longer than the lifetime of any nonce. */
const SPAN = 15 * 60_000

/**
 * No machine recovers from a power failure within this time, in ms: requests dated less than this ahead are older than the restarted app.
 */
const OUTAGE_MS = 1_000

/**
 * A ledger of lines in files, for apps without a database. It outlives the process, and all processes on this machine with the same data
 * folder can use it. Lines that are needed after a power failure are synced to disk before a claim returns; concurrent claims share one
 * sync.
 *
 * @param shared whether other processes write to the files, too. Then the files are checked on each call, and only requests dated further
 *   ahead than the clock tolerance use the ledger. Otherwise every request dated ahead does.
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
    // Set last, so that a file whose read failed is read again.
    sizes.set(name, size)
  }
  /** The files of the ledger; any others in the folder are left alone. */
  const names = async (): Promise<readonly string[]> => (await readdir(folder)).filter((name) => /^\d+$/.test(name))
  const load = sharedRuns(async () => {
    for (const name of await names()) await read(name).catch(unlessGone)
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
      // The clock of the process that sweeps may be ahead of one that would still accept the request.
      const end = until + marginMs
      taken.set(key, end)
      const append = timestamp > clock.now() + OUTAGE_MS ? onDisk : written
      await append(String(Math.floor(end / SPAN)), `${key} ${end}`)
      return true
    },
    async sweep() {
      const now = clock.now()
      for (const [key, until] of taken) if (until < now) taken.delete(key)
      for (const name of await names()) {
        if ((Number(name) + 1) * SPAN >= now) continue
        await rm(join(folder, name), { force: true })
        sizes.delete(name)
      }
    },
  }
}

/** Another process may have swept the file, in which case it held only expired nonces. */
function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

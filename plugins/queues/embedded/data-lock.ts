import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Logger, markProcess, type ProcessMark, parseProcessMark, processMarkState, type ZinError } from 'zin'
import { queueErrors } from '../errors.js'

export interface DataLock {
  /** The error QUEUE_DATA_TAKEN once another process has the lock or has had it. It cannot be got back. */
  readonly lost: ZinError | undefined
  /** Reads the lock if it was not updated lately, so that another process may have taken it. Call it before every use of the data. */
  confirm(): Promise<void>
  /** Removes the lock if it is still that of this process. */
  release(): Promise<void>
}

export interface DataLockOptions {
  readonly log?: Logger | undefined
  /** Called once when the lock is lost. */
  readonly onLost?: (error: ZinError) => void
}

/** How often the holder updates its file, and after what time without updates the file of a process that cannot be seen is stale, in ms. */
const touchEveryMs = 5000
const abandonedAfterMs = 20_000
/** After what time without an update the holder reads its file before it uses the data, in ms: well before it is stale to others. */
const confirmAfterMs = 2 * touchEveryMs
/** How often a process that waits looks whether a file was updated, in ms. */
const lookEveryMs = 200

/** How often a process looks for claims of others before it gives up, and the longest wait between two looks, in ms. */
const mostLooks = 40
const longestWaitMs = 50

/**
 * Creates `<dir>/lock`. Throws ZIN_DATA_IN_USE when a running process holds it; reclaims the lock of a killed process. If the holder is in
 * another container of this machine, it waits up to 20 s to see whether it still updates the lock.
 * PGlite itself does not prevent two processes from overwriting each other.
 */
export async function lockData(dir: string, { log, onLost }: DataLockOptions = {}): Promise<DataLock> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const file = join(dir, 'lock')
  const me = await markProcess(dir)
  // Earlier versions read the name of the machine as `host`.
  const content = `${JSON.stringify({ ...me, host: me.machine })}\n`
  await claim({ dir, content, me, log })
  let updatedAt = Date.now()
  let lost: ZinError | undefined
  let released = false
  const renew = async (): Promise<void> => {
    const now = new Date()
    const loss = await lossOf(dir, content, me)
    if (released || lost) return
    if (loss === undefined) {
      const done = await utimes(file, now, now).then(
        () => true,
        () => false,
      )
      if (done) updatedAt = now.getTime()
      return
    }
    lost = queueErrors.QUEUE_DATA_TAKEN(dir, loss)
    clearInterval(timer)
    onLost?.(lost)
  }
  const timer = setInterval(() => void renew(), touchEveryMs)
  timer.unref()
  return {
    get lost() {
      return lost
    },
    async confirm() {
      if (Math.abs(Date.now() - updatedAt) > confirmAfterMs) await renew()
    },
    async release() {
      if (released) return
      released = true
      clearInterval(timer)
      if ((await readFile(file, 'utf8').catch(() => '')) === content) await unlink(file).catch(() => undefined)
    },
  }
}

/** What has happened to the lock; undefined while it is held, and if that cannot be told. */
async function lossOf(dir: string, content: string, me: ProcessMark): Promise<string | undefined> {
  const file = join(dir, 'lock')
  try {
    if ((await readFile(file, 'utf8')) === content) return undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined
    // After the folder was moved, the lock is still in it.
    const isMoved = me.folder === '' || (await markProcess(dir)).folder !== me.folder
    return isMoved ? undefined : 'is gone: another process had it and has ended, or it was deleted'
  }
  const taker = await holderIn(file)
  return `is now that of ${taker ? nameOf(taker, me) : 'another process'}`
}

interface Claimant {
  readonly dir: string
  readonly content: string
  readonly me: ProcessMark
  readonly log: Logger | undefined
}

/**
 * Takes the lock, from a stale holder if there is one. A process announces a claim in a file of its own before it looks for other claims, so
 * at most one process at a time finds no other; only that process may replace the lock. The first by name keeps its claim, and the others
 * wait without one.
 */
async function claim({ dir, content, me, log }: Claimant): Promise<void> {
  const id = `lock.${randomUUID()}`
  let own: string | undefined
  await awaitKilled(dir, me, log)
  try {
    for (let looks = 0; looks < mostLooks; looks++) {
      await refuseLive(dir, me)
      const others = await otherClaims(dir, own, me)
      if (others.some((other) => other < id)) {
        if (own !== undefined) await unlink(join(dir, own))
        own = undefined
      } else if (own === undefined) {
        // A new name each time: another process may be about to remove the file of the claim before.
        own = `${id}.${looks}`
        await writeFile(join(dir, own), content, { flag: 'wx', mode: 0o600 })
        continue
      } else if (others.length === 0) {
        await refuseLive(dir, me)
        return await rename(join(dir, own), join(dir, 'lock'))
      }
      await setTimeout(Math.random() * longestWaitMs)
    }
  } finally {
    if (own !== undefined) await unlink(join(dir, own)).catch(() => undefined)
  }
  throw queueErrors.ZIN_DATA_IN_USE(dir, 'another process that is starting')
}

/**
 * Waits until a holder in another container of this machine has updated its lock, or the lock is stale. A container that was killed and is
 * started again has the same machine name and finds its own lock of a few seconds ago.
 */
async function awaitKilled(dir: string, me: ProcessMark, log: Logger | undefined): Promise<void> {
  const file = join(dir, 'lock')
  const holder = await holderIn(file)
  if (holder?.machine !== me.machine || (await processMarkState(holder, me)) !== 'elsewhere') return
  const age = Date.now() - (await touchedAt(file))
  if (Math.abs(age) > abandonedAfterMs) return
  log?.info(`the data directory ${dir} has the lock of ${nameOf(holder, me)}; waiting up to 20 s to see whether it still runs`)
  await isUpdated(file, abandonedAfterMs - Math.max(age, 0))
}

async function refuseLive(dir: string, me: ProcessMark): Promise<void> {
  const file = join(dir, 'lock')
  const holder = await holderIn(file)
  if (holder && (await lives(holder, me, file))) throw queueErrors.ZIN_DATA_IN_USE(dir, nameOf(holder, me))
}

/** The names of other claims. Removes those of processes that were killed while they started. */
async function otherClaims(dir: string, own: string | undefined, me: ProcessMark): Promise<readonly string[]> {
  const others: string[] = []
  for (const name of await readdir(dir)) {
    if (!name.startsWith('lock.') || name === own) continue
    const file = join(dir, name)
    const claimant = await holderIn(file)
    // A claim without a holder is still being written, unless it is old.
    if (claimant ? await lives(claimant, me, file) : await isTouched(file)) others.push(name)
    else await unlink(file).catch(() => undefined)
  }
  return others
}

async function lives(holder: ProcessMark, me: ProcessMark, file: string): Promise<boolean> {
  const state = await processMarkState(holder, me)
  return state === 'elsewhere' ? isTouched(file) : state === 'running'
}

/** Whether the file has been written or updated lately; false if it does not exist. */
async function isTouched(file: string): Promise<boolean> {
  const age = Date.now() - (await touchedAt(file))
  if (age > -abandonedAfterMs) return age < abandonedAfterMs
  // The clock went back, or that of the other machine is ahead: a holder that lives updates the file again.
  return isUpdated(file, touchEveryMs * 1.5)
}

/** Waits until the file is updated; false if that does not happen in time, or it is removed. */
async function isUpdated(file: string, withinMs: number): Promise<boolean> {
  const before = await touchedAt(file)
  const end = performance.now() + withinMs
  let now = before
  while (now === before && performance.now() < end) {
    await setTimeout(lookEveryMs)
    now = await touchedAt(file)
  }
  return now !== before && now !== 0
}

async function touchedAt(file: string): Promise<number> {
  return stat(file).then(
    (stats) => stats.mtimeMs,
    () => 0,
  )
}

/** The holder that a file names; undefined if there is no file or no holder in it. */
async function holderIn(file: string): Promise<ProcessMark | undefined> {
  try {
    const value = JSON.parse(await readFile(file, 'utf8')) as { readonly host?: unknown } | null
    return parseProcessMark({ machine: value?.host ?? '', ...value })
  } catch {
    return undefined
  }
}

function nameOf({ machine, namespace, pid }: ProcessMark, me: ProcessMark): string {
  if (machine !== me.machine) return `process ${pid} on machine ${machine}`
  if (namespace !== '' && namespace !== me.namespace) return `process ${pid} in another container or on its host (${namespace})`
  return pid === process.pid ? `process ${pid} (this process)` : `process ${pid}`
}

import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { markProcess, type ProcessMark, parseProcessMark, processMarkState } from 'zin'
import { queueErrors } from '../errors.js'

export interface DataLock {
  release(): Promise<void>
}

/** How often the holder updates its file, and after what time without updates the file of another machine is stale, in ms. */
const touchEveryMs = 5000
const abandonedAfterMs = 20_000

/** How often a process looks for claims of others before it gives up, and the longest wait between two looks, in ms. */
const mostLooks = 40
const longestWaitMs = 50

/**
 * Creates `<dir>/lock`. Throws ZIN_DATA_IN_USE when a running process holds it; reclaims the lock of a killed process.
 * PGlite itself does not prevent two processes from overwriting each other.
 */
export async function lockData(dir: string): Promise<DataLock> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const file = join(dir, 'lock')
  const me = await markProcess(dir)
  // Earlier versions read the name of the machine as `host`.
  const content = `${JSON.stringify({ ...me, host: me.machine })}\n`
  await claim(dir, content, me)
  const timer = setInterval(() => {
    const now = new Date()
    utimes(file, now, now).catch(() => undefined)
  }, touchEveryMs)
  timer.unref()
  let released = false
  return {
    async release() {
      if (released) return
      released = true
      clearInterval(timer)
      if ((await readFile(file, 'utf8').catch(() => '')) === content) await unlink(file).catch(() => undefined)
    },
  }
}

/**
 * Takes the lock, from a stale holder if there is one. A process announces a claim in a file of its own before it looks for other claims, so
 * at most one process at a time finds no other; only that process may replace the lock. The first by name keeps its claim, and the others
 * wait without one.
 */
async function claim(dir: string, content: string, me: ProcessMark): Promise<void> {
  const id = `lock.${randomUUID()}`
  let own: string | undefined
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
  const touched = await touchedAt(file)
  const age = Date.now() - touched
  if (age > -abandonedAfterMs) return age < abandonedAfterMs
  // The clock went back, or that of the other machine is ahead: a holder that lives updates the file again.
  await setTimeout(touchEveryMs * 1.5)
  return (await touchedAt(file)) !== touched
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

function nameOf({ machine, pid }: ProcessMark, me: ProcessMark): string {
  if (machine !== me.machine) return `process ${pid} on machine ${machine}`
  return pid === process.pid ? `process ${pid} (this process)` : `process ${pid}`
}

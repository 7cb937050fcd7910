import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { readEnvFile } from '../../config/env-file.js'
import { configErrors } from '../../config/errors.js'
import { findConfig } from '../../config/load.js'
import { messageOf } from '../../errors.js'
import { defineCommand, type Printer } from '../../host/command.js'
import { guardMessages } from '../../util/guard-messages.js'
import { isWatcherMessage } from '../../util/watcher-channel.js'
import { keysText, openUrl, readKeys } from '../dev-keys.js'
import { Restarter } from '../restarter.js'
import { watchSources } from '../watch.js'

/** How long after a crash the app starts again, in ms. */
const againMs = 1_000
/** After a crash, an app that had run longer than this is started again, in ms; one that crashes sooner, only once. */
const stableMs = 10_000

export const devCommand = defineCommand({
  name: 'dev',
  summary: 'Start the app and restart it when a source file changes',
  needs: 'nothing',
  options: {
    host: { type: 'string', summary: 'Address to listen on' },
    port: { type: 'int', summary: 'Port to listen on', min: 0, max: 65_535 },
    ignore: { type: 'string', summary: 'Folders whose changes do not restart the app, comma-separated, such as web' },
  },
  async run({ cwd, options, print }) {
    const found = await findConfig(cwd)
    if (found === undefined) throw configErrors.ZIN_CONFIG_MISSING(cwd)
    const { rootDir } = found
    const args = [
      'start',
      ...(options.host === undefined ? [] : [`--host=${options.host}`]),
      ...(options.port === undefined ? [] : [`--port=${options.port}`]),
    ]
    const envFile = join(rootDir, '.env')
    const started = new WeakSet<ChildProcess>()
    let written: string | undefined
    let running: Running | undefined
    let again: NodeJS.Timeout | undefined
    /** Whether the app was started again after a crash, and crashed before it had run for a while. */
    let retried = false
    const listen = (child: ChildProcess): void => {
      let startedAt = Number.POSITIVE_INFINITY
      child.on('message', (message) => {
        if (!isWatcherMessage(message)) return
        if (message.zin === 'wrote') {
          written = message.text
          return
        }
        started.add(child)
        startedAt = performance.now()
        running = message
      })
      child.on('exit', (code, signal) => {
        running = undefined
        // It was stopped for a restart, however it took that.
        if (code === 0 || child.killed) return
        const how = code === null ? `was ended by ${signal}` : `exited with code ${code}`
        if (performance.now() - startedAt > stableMs) retried = false
        // One that has never started, or that crashes each time, would most likely fail again.
        if (!started.has(child) || retried) return print.error(`the app ${how}; waiting for a change`)
        retried = true
        print.error(`the app ${how}; starting it again`)
        again = setTimeout(() => void restart('the app crashed'), againMs)
        again.unref()
      })
    }
    const app = new Restarter(() => startChild(rootDir, args, print, listen), { isStarting: (child) => !started.has(child) })
    const restart = async (reason: string): Promise<void> => {
      clearTimeout(again)
      print.line(`zin dev: ${timeText(new Date())} ${reason}, restarting`)
      await app.restart().catch((error: unknown) => print.error(messageOf(error)))
    }
    const onChange = async (files: readonly string[]): Promise<void> => {
      const text = files.includes(envFile) ? await readFile(envFile, 'utf8').catch(() => '') : undefined
      // Ignore changes that the app itself made, such as a generated password.
      const [first, ...others] = text === undefined || text !== written ? files : files.filter((one) => one !== envFile)
      if (first === undefined) return
      retried = false
      await restart(`${relative(rootDir, first)}${others.length === 0 ? '' : ` and ${others.length} more`} changed`)
    }
    const { ignore = '' } = options
    const ignored = [await dataFolder(rootDir), ...ignore.split(',').map((folder) => resolve(rootDir, folder.trim()))]
    const sources = await watchSources(rootDir, (files) => void onChange(files), { ignored })
    const { done, stop } = untilSignal(() => app.kill())
    const { stdin } = process
    const endKeys = stdin.isTTY
      ? await readKeys(stdin, {
          restart: () => {
            retried = false
            void restart('r was pressed')
          },
          open: (path) => openPage(running, path, print),
          quit: stop,
        })
      : undefined
    print.line(`zin dev: watching ${rootDir}; ${endKeys === undefined ? 'press Ctrl-C to stop' : keysText}`)
    await app.restart()
    await done
    clearTimeout(again)
    sources.close()
    await app.stop()
    endKeys?.()
    return 0
  },
})

/** Opens a page of the app, or says why not. */
function openPage(running: Running | undefined, path: '/' | '/docs', print: Printer): void {
  const url = running?.url === undefined ? undefined : `${running.url}${path}`
  if (url === undefined) print.error(running === undefined ? 'the app does not run' : 'the app serves no HTTP')
  else if (path === '/docs' && running?.docs !== true) print.error('the app has no /docs')
  else openUrl(url, (reason) => print.error(`no browser could be opened (${reason}); the address is ${url}`))
}

/** `14:02:31`, in local time. */
function timeText(at: Date): string {
  return at.toTimeString().slice(0, 8)
}

/** What an app has told when it had started. */
interface Running {
  readonly url?: string
  readonly docs?: boolean
}

type Values = Readonly<Record<string, string | undefined>>

/** Returns the environment of the app under `zin dev`. With `ZIN_DEV=1`, plugins use their `developmentDefaults`. */
export function devEnvironment(own: Values, file: Values = {}): Record<string, string | undefined> {
  const isSet = own.NODE_ENV !== undefined || file.NODE_ENV !== undefined
  return { ...own, ...(isSet ? {} : { NODE_ENV: 'development' }), ZIN_DEV: '1' }
}

async function startChild(rootDir: string, args: readonly string[], print: Printer, listen: (child: ChildProcess) => void) {
  // Imported lazily: `zin help` does not need it.
  const { spawn } = await import('node:child_process')
  const environment = await childEnvironment(rootDir, print)
  // A separate process group: Ctrl-C reaches only the watcher, which then stops the app once.
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] as string, ...args], {
    cwd: rootDir,
    env: environment,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  // What the app writes to the channel itself is no message of the watcher, and no reason to end.
  guardMessages(child, () => undefined)
  listen(child)
  child.on('error', (error) => print.error(`cannot start the app: ${error.message}`))
  return child
}

/** The child re-reads `.env`; it is read here only to see whether it sets `NODE_ENV`. */
async function childEnvironment(rootDir: string, print: Printer): Promise<NodeJS.ProcessEnv> {
  try {
    return devEnvironment(process.env, await readEnvFile(join(rootDir, '.env')))
  } catch (error) {
    print.error(messageOf(error))
    return devEnvironment(process.env)
  }
}

/** Returns the data folder of the app, as far as it can be determined without loading the app. */
async function dataFolder(rootDir: string): Promise<string> {
  const file = await readEnvFile(join(rootDir, '.env')).catch(() => undefined)
  return resolve(rootDir, process.env.ZIN_DATA_DIR || file?.ZIN_DATA_DIR || '.zin/data')
}

/** `done` resolves on the first SIGINT, SIGTERM or call of `stop`; a second one calls `hurry`. */
function untilSignal(hurry: () => void): { readonly done: Promise<void>; stop(): void } {
  let stop = (): void => undefined
  const done = new Promise<void>((resolve) => {
    let seen = false
    stop = () => {
      if (seen) hurry()
      seen = true
      resolve()
    }
  })
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return { done, stop }
}

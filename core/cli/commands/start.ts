import { ZinError } from '../../errors.js'
import { defineCommand, type Printer } from '../../host/command.js'
import type { Host } from '../../host/host.js'
import type { ShutdownReport } from '../../host/shutdown.js'
import type { Role } from '../../host/view.js'
import { type Address, urlOf } from '../../util/address.js'
import { tellWatcher } from '../../util/watcher-channel.js'
import { UsageError } from '../errors.js'
import { openApp } from '../open-app.js'

export const startCommand = defineCommand({
  name: 'start',
  summary: 'Start the app',
  needs: 'nothing',
  options: {
    host: { type: 'string', summary: 'Address to listen on; default: the configuration, then HOST, then 127.0.0.1' },
    port: {
      type: 'int',
      summary: 'Port to listen on, 0 for a free one; default: the configuration, then PORT, then 7777',
      min: 0,
      max: 65_535,
    },
    roles: { type: 'string', summary: 'Roles of this process, comma-separated', default: 'http,worker' },
  },
  async run({ cwd, options, print }) {
    const began = performance.now()
    const roles = rolesOf(options.roles)
    const bind = {
      ...(options.host === undefined ? {} : { host: options.host }),
      ...(options.port === undefined ? {} : { port: options.port }),
    }
    const { runWithSignals } = await import('../../host/signals.js')
    let onStopped: (report: ShutdownReport) => void = () => undefined
    const stopped = new Promise<ShutdownReport>((resolve) => {
      onStopped = resolve
    })
    let ignoreSignals = leaveOnSignals()
    let leftMs = (): number => 0
    const onHost = (host: Host): void => {
      leftMs = () => host.view.shutdownLeftMs
      ignoreSignals()
      ignoreSignals = runWithSignals(host, { onExit: onStopped })
    }
    stopWithWatcher()
    // In an app without HTTP and workers, nothing else keeps the process alive.
    const keepAlive = setInterval(() => undefined, 2 ** 30)
    const exitCode = async (): Promise<number> => {
      const code = (await stopped).clean ? 0 : 1
      // A handle that a plugin left open must not keep the process alive longer than the shutdown may take.
      setTimeout(() => process.exit(code), leftMs()).unref()
      return code
    }
    try {
      const { host } = await openApp({ cwd, environment: process.env, roles, bind, onHost })
      const address = await host.start()
      tellWatcher({ zin: 'started', ...(address && { url: urlOf(address) }), docs: hasDocs(host) })
      announce(host, address, Math.round(performance.now() - began), print)
      return await exitCode()
    } catch (error) {
      if (error instanceof ZinError && error.code === 'ZIN_BOOT_STOPPED') return await exitCode()
      throw error
    } finally {
      clearInterval(keepAlive)
      ignoreSignals()
    }
  },
})

/**
 * Exits on a signal while nothing is open yet: as PID 1 of a container the process would otherwise ignore it. Returns a function that
 * removes the handlers.
 */
function leaveOnSignals(): () => void {
  const leave = (_signal: NodeJS.Signals, number: number): never => process.exit(128 + number)
  const signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']
  for (const signal of signals) process.on(signal, leave)
  return () => {
    for (const signal of signals) process.off(signal, leave)
  }
}

const allRoles: readonly Role[] = ['http', 'worker']

function rolesOf(text: string): Role[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !allRoles.includes(name as Role))
  if (unknown !== undefined)
    throw new UsageError(`option --roles must be ${allRoles.join(' or ')}, or both, comma-separated, not "${text}"`)
  return allRoles.filter((role) => names.includes(role))
}

/** Announces that the app is running: as text on stdout, or as a log line if the log is JSON or does not go to stdout. */
function announce(host: Host, address: Address | undefined, ms: number, print: Printer): void {
  const { app, roles } = host.view
  const { order } = host.plan()
  const details = Object.fromEntries(host.view.plugins().flatMap(({ name, detail }) => (detail === undefined ? [] : [[name, detail]])))
  const url = address === undefined ? undefined : urlOf(address)
  const setting = (name: string): string | undefined => host.view.settings().find((row) => row.name === name)?.value
  const words = url === undefined ? `${app.name} runs without HTTP` : `${app.name} listens on ${url}`
  if (setting('LOG_CHANNEL') !== 'console' || setting('LOG_FORMAT') !== 'text') {
    host.log.info({ url, roles: [...roles], plugins: order, details, environment: app.environment, ms }, words)
    return
  }
  print.line(`${words} (${app.environment}, ${[...roles].join(' and ')}, ${ms} ms)`)
  print.line(`  plugins  ${order.map((name) => (name in details ? `${name} (${details[name]})` : name)).join(', ')}`)
  print.line(`  data     ${app.dataDir}`)
  if (url !== undefined && hasDocs(host)) print.line(`  docs     ${url}/docs`)
}

function hasDocs(host: Host): boolean {
  return host.view.routes().some(({ method, path }) => method === 'GET' && path === '/docs')
}

/** Stops the app if `zin dev` dies: its IPC channel to this process then closes. */
function stopWithWatcher(): void {
  if (!process.connected || process.env.ZIN_DEV !== '1') return
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel?.unref()
}

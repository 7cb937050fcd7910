import type { Readable, Writable } from 'node:stream'
import type { ZinError } from '../errors.js'
import type { AppClient, Command, CommandContext, CommandSpec, Dialog, Printer } from '../host/command.js'
import type { ServiceRef } from '../services/ref.js'
import { wantsColors } from '../util/colors.js'
import { confirmLoss } from './confirm.js'
import { cliErrors } from './errors.js'
import { type OpenApp, openApp } from './open-app.js'
import { parseArguments } from './options.js'
import { createPrinter, type Output } from './print.js'
import type { Match } from './program.js'

/** The environment that a command line runs in. */
export interface Terminal {
  readonly cwd: string
  /** Normally `process.env`. Loading an app writes values that only `.env` defines into it. */
  readonly env: Record<string, string | undefined>
  readonly stdin?: Readable & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
}

/** Runs one command: opens what it needs, and closes it afterwards. Returns the exit code. */
export async function runCommand(match: Match, terminal: Terminal, signal: AbortSignal, opened?: OpenApp): Promise<number> {
  const { command, plugin, rest } = match
  const needsApp = command.needs !== 'nothing'
  let app = opened
  try {
    const { args, options, repeated } = parseArguments(command, rest)
    const { stdout, stderr } = terminal
    const colors = wantsColors(stdout, terminal.env)
    const print = createPrinter({ stdout, stderr, json: options.json === true, colors, command: command.name })
    if (needsApp) app ??= await openApp({ cwd: terminal.cwd, environment: terminal.env, roles: [] })
    let started = false
    const startServices = async (): Promise<void> => {
      if (app === undefined || started) return
      const { starts = [plugin] } = command
      const { host } = app
      const names = typeof starts === 'function' ? await starts({ host: host.view, slot: (name) => host.slot(name) }) : starts
      await print.waiting(`${names.join(', ')} to start`, host.startOnly(names))
      started = true
    }
    if (command.needs === 'services') {
      await command.check?.()
      await startServices()
    }
    const client = app !== undefined && command.needs === 'running app' ? await clientFor(app, options, print, signal) : undefined
    const context = contextFor(command, {
      args,
      repeated,
      options,
      print,
      terminal,
      signal,
      app: needsApp ? app : undefined,
      client,
      startServices,
      started: () => started,
    })
    return (await command.run(context)) ?? 0
  } finally {
    await app?.close()
  }
}

async function clientFor(
  app: OpenApp,
  options: Readonly<Record<string, unknown>>,
  print: Printer,
  signal: AbortSignal,
): Promise<AppClient> {
  // Imported lazily: it loads node:http and node:https.
  const { createAppClient } = await import('./client.js')
  const commands = app.host.commands().map(({ command }) => command)
  const slot = app.host.slot('authorizeCommand')
  return createAppClient({ app: app.host.view.app, options, authorize: (request) => slot.call(request), commands, print, signal })
}

interface ContextParts {
  readonly args: CommandContext['args']
  readonly repeated: readonly string[]
  readonly options: Readonly<Record<string, string | number | boolean | undefined>>
  readonly print: Printer
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly app: OpenApp | undefined
  readonly client: AppClient | undefined
  readonly startServices: () => Promise<void>
  readonly started: () => boolean
}

function contextFor(
  command: Command,
  { args, repeated, options, print, terminal, signal, app, client, ...parts }: ContextParts,
): CommandContext {
  const absent = (what: string, needs: CommandSpec['needs']): ZinError =>
    cliErrors.ZIN_COMMAND_NEEDS(command.name, what, `needs: '${needs}'`)
  return {
    args,
    repeated,
    options: options as CommandContext['options'],
    print,
    cwd: terminal.cwd,
    env: app?.loaded.env.values ?? terminal.env,
    signal,
    get dialog() {
      return dialogOf(terminal, print)
    },
    confirm: async (loss) => {
      if (!command.confirms) throw cliErrors.ZIN_COMMAND_NEEDS(command.name, 'confirm', 'confirms: true')
      await confirmLoss({
        appName: app?.host.view.app.name ?? 'zin',
        loss,
        yes: options.yes === true,
        dialog: dialogOf(terminal, print),
        signal,
      })
    },
    get host() {
      if (app === undefined) throw absent('the host', 'config')
      return app.host.view
    },
    get app() {
      if (client === undefined) throw absent('the running app', 'running app')
      return client
    },
    slot(name) {
      if (app === undefined) throw absent(`the hook "${name}"`, 'config')
      return app.host.slot(name)
    },
    service<T>(ref: ServiceRef<T>): T {
      if (app === undefined || !parts.started()) throw absent(`the service "${ref.id}"`, 'services')
      return app.host.service(ref)
    },
    startServices: () => {
      if (command.needs !== 'running app') throw absent('startServices', 'running app')
      return parts.startServices()
    },
  }
}

/** Evaluated on access, so that a command without prompts does not touch its standard input. */
function dialogOf({ stdin, stdout }: Terminal, print: Printer): Dialog | undefined {
  if (print.json || !stdout.isTTY || !stdin?.isTTY) return undefined
  // If stdout is a TTY, it is a full stream.
  return { input: stdin, output: stdout as Output & Writable }
}

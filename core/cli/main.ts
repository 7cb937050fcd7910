import { loadEnv } from '../config/env-file.js'
import { findConfig } from '../config/load.js'
import { messageOf, ZinError } from '../errors.js'
import type { Command, CommandShape, OwnedCommand } from '../host/command.js'
import { readCommandCache } from './command-cache.js'
import { coreCommands, handlesSignals } from './commands/index.js'
import { describeError, isDebugging, jsonError, printable } from './describe-error.js'
import { UsageError } from './errors.js'
import { type OpenApp, openApp } from './open-app.js'
import { asksForHelp, asksForJson } from './options.js'
import { zinPackage } from './package-root.js'
import { wrapped } from './print.js'
import { type Match, Program } from './program.js'
import { runCommand, type Terminal } from './run-command.js'
import type { LoadCommands, LoadOwners } from './standalone.js'

const core: readonly OwnedCommand[] = coreCommands.map((command) => ({ plugin: 'zin', command }))

/**
 * Runs the `zin` command. Returns the exit code: 0, 1 for a failure, 2 for a wrong command line, 130 after Ctrl-C.
 *
 * @param standalone loads the commands that need no app, see {@link standaloneCommands}.
 * @param owners loads the plugins of the commands that an app may lack, see {@link commandOwners}.
 */
export async function main(
  argv: readonly string[],
  terminal: Terminal,
  standalone: LoadCommands = async () => [],
  owners: LoadOwners = async () => ({}),
): Promise<number> {
  const { version } = zinPackage()
  let name: string | undefined
  try {
    const room = roomOf(terminal)
    const builtIn = new Program(core, { version, ...room })
    if (argv[0] === '--version' || argv[0] === '-v') return shown(() => builtIn.printVersion())
    if (isHelp(argv)) return await help(argv.slice(1), terminal, version, standalone, owners)
    const match = builtIn.find(argv)
    if (match !== undefined) {
      name = match.command.name
      if (asksForHelp(match.rest)) return shown(() => builtIn.printHelpOf(match.command.name))
      return await withSignals(match.command, (signal) => runCommand(match, terminal, signal))
    }
    if (argv[0]?.startsWith('-')) throw builtIn.unknown(argv)
    name = argv[0]
    if (asksForHelp(argv)) return await help(argv, terminal, version, standalone, owners)
    const alone = await standalone()
    const own = new Program(alone, { version }).find(argv)
    if (own !== undefined) {
      name = own.command.name
      await readDotEnv(terminal)
      return await withSignals(own.command, (signal) => runCommand(own, terminal, signal))
    }
    const { app, match: found } = await findPluginCommand(argv, terminal, version, alone, owners)
    name = found.command.name
    return await withSignals(found.command, (signal) => runCommand(found, terminal, signal, app))
  } catch (error) {
    const unknown = error instanceof UsageError && error.message.startsWith('unknown command')
    const lines = asksForJson(argv) ? [jsonError(error)] : describeError(error, unknown ? undefined : name, isDebugging(terminal.env))
    for (const line of lines) terminal.stderr.write(`${asksForJson(argv) ? line : wrapped(line, terminal.stderr)}\n`)
    return error instanceof ZinError && error.usage ? 2 : 1
  }
}

function isHelp(argv: readonly string[]): boolean {
  return argv.length === 0 || argv[0] === 'help' || argv[0] === '--help' || argv[0] === '-h'
}

/** Columns to wrap help to: those of a terminal; some terminals do not report their size. */
function roomOf({ stdout }: Terminal): { readonly room?: number } {
  return stdout.isTTY ? { room: stdout.columns || 80 } : {}
}

function shown(print: () => void): number {
  print()
  return 0
}

/** `zin help [command]`. Plugin commands come from the cache, or else from the loaded app. */
async function help(
  words: readonly string[],
  terminal: Terminal,
  version: string,
  standalone: LoadCommands,
  owners: LoadOwners,
): Promise<number> {
  const { commands, isApp, problem } = await listPluginCommands(terminal, version)
  const note = problem === undefined ? {} : { note: `Plugin commands are not listed: ${printable(problem)}` }
  const program = new Program<CommandShape>([...core, ...(await standalone()), ...commands], { version, ...note, ...roomOf(terminal) })
  const named = words.filter((word) => !word.startsWith('-'))
  if (named.length === 0) return shown(() => program.printHelp())
  const match = program.find(named)
  if (match === undefined) {
    const known = isApp && problem === undefined ? await owners() : {}
    const has = (name: string): boolean => commands.some(({ plugin }) => plugin === name)
    throw program.unknown(named, undefined, missingOwner(known, has))
  }
  return shown(() => program.printHelpOf(match.command.name))
}

interface Listing {
  readonly commands: readonly OwnedCommand<CommandShape>[]
  readonly isApp: boolean
  readonly problem?: string
}

async function listPluginCommands(terminal: Terminal, version: string): Promise<Listing> {
  try {
    const found = await findConfig(terminal.cwd)
    if (found === undefined) return { commands: [], isApp: false }
    const cached = await readCommandCache(found, version)
    if (cached !== undefined) return { commands: cached, isApp: true }
    // Warnings about the configuration do not belong in a list of commands.
    const app = await open({ ...terminal, env: { ...terminal.env, LOG_LEVEL: 'silent' } })
    const commands = app.host.commands()
    await app.close()
    return { commands, isApp: true }
  } catch (error) {
    return { commands: [], isApp: true, problem: messageOf(error).split('\n')[0] ?? '' }
  }
}

const noApp = 'plugin commands need an app, and there is no zin.config.ts in this folder or above it'

/** Opens the app and finds the command. Throws a UsageError if no plugin registers it. */
async function findPluginCommand(
  argv: readonly string[],
  terminal: Terminal,
  version: string,
  standalone: readonly OwnedCommand[],
  owners: LoadOwners,
): Promise<{ app: OpenApp; match: Match }> {
  if ((await findConfig(terminal.cwd)) === undefined) throw new Program([...core, ...standalone], { version }).unknown(argv, noApp)
  const app = await open(terminal)
  try {
    const program = new Program([...core, ...standalone, ...app.host.commands()], { version })
    const match = program.find(argv)
    if (match === undefined)
      throw program.unknown(
        argv,
        undefined,
        missingOwner(await owners(), (name) => app.host.view.plugins().some((plugin) => plugin.name === name)),
      )
    return { app, match }
  } catch (error) {
    await app.close()
    throw error
  }
}

/** Says how the app gets a command of a built-in plugin. */
function missingOwner(
  owners: Readonly<Record<string, string>>,
  hasPlugin: (name: string) => boolean,
): (name: string) => string | undefined {
  return (name) => {
    const owner = Object.hasOwn(owners, name) ? owners[name] : undefined
    if (owner === undefined) return undefined
    return hasPlugin(owner)
      ? `the plugin "${owner}" has it, and its options and settings turn it off here; see "zin plugins"`
      : `it is a command of the plugin "${owner}", which this app does not have: run "zin add ${owner}"`
  }
}

function open(terminal: Terminal): Promise<OpenApp> {
  return openApp({ cwd: terminal.cwd, environment: terminal.env, roles: [] })
}

/** Loads `.env` for a command that needs no app: that of the app, or else of this folder. */
async function readDotEnv({ cwd, env }: Terminal): Promise<void> {
  const found = await findConfig(cwd)
  await loadEnv(found?.rootDir ?? cwd, env)
}

/**
 * Runs a command with a signal that Ctrl-C aborts; a second Ctrl-C exits the process. A command whose output nobody reads ends with 0; one
 * whose output cannot be written, with 1.
 */
async function withSignals(command: Command, run: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const controller = new AbortController()
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort()
  }
  const onClosed = ({ code }: NodeJS.ErrnoException): void => {
    process.exit(code === 'EPIPE' ? 0 : 1)
  }
  const runsApp = handlesSignals(command)
  const signals: readonly NodeJS.Signals[] = runsApp ? [] : ['SIGINT', 'SIGTERM']
  const ends = !(runsApp || command.serves)
  for (const signal of signals) process.on(signal, onSignal)
  if (ends) process.stdout.on('error', onClosed)
  try {
    const code = await run(controller.signal)
    return controller.signal.aborted && !command.serves ? 130 : code
  } finally {
    for (const signal of signals) process.off(signal, onSignal)
    if (ends) process.stdout.off('error', onClosed)
  }
}

import type { Readable, Writable } from 'node:stream'
import type { CommandCredential, CommandRequest, HookMap } from '../hooks/catalogue.js'
import type { SlotOf } from '../hooks/kinds.js'
import type { ServiceRef } from '../services/ref.js'
import type { HostView } from './view.js'

/** Declaration of one command option. Values are text unless the type says otherwise: `007` stays `007` for a `string`. */
export type OptionSpec =
  | {
      /** How the text of the command line is parsed. */
      readonly type: 'string'
      /** One line for `--help`. */
      readonly summary: string
      /** The value when the option is omitted. Default: undefined; false for a `boolean`. */
      readonly default?: string
      /** One letter, for `-n`. */
      readonly short?: string
      /** For a `string`: the allowed values. */
      readonly values?: readonly string[]
    }
  | {
      readonly type: 'int' | 'number'
      readonly summary: string
      readonly default?: number
      readonly short?: string
      /** For an `int` or `number`: the minimum. */
      readonly min?: number
      /** For an `int` or `number`: the maximum. */
      readonly max?: number
    }
  | { readonly type: 'boolean'; readonly summary: string; readonly default?: boolean; readonly short?: string }

export type OptionSpecs = Readonly<Record<string, OptionSpec>>

type OptionValue<S extends OptionSpec> = S extends { type: 'boolean' }
  ? boolean
  : S extends { type: 'int' | 'number' }
    ? S extends { default: number }
      ? number
      : number | undefined
    : S extends { default: string }
      ? string
      : string | undefined

/** Typed option values by option name, as written on the command line (`max-backups`). */
export type OptionValues<S extends OptionSpecs> = { readonly [K in keyof S]: OptionValue<S[K]> }

/** Declaration of one argument of a command. */
export interface ArgSpec {
  /** Key in `ctx.args`, and `<name>` in `--help`. */
  readonly name: string
  /** One line for `--help`. */
  readonly summary: string
  /** Default true. */
  readonly required?: boolean
  /** Whether the last argument may be given several times: `ctx.repeated` has all of them, and `ctx.args` the first. Default false. */
  readonly repeated?: boolean
}

/** The output of a command. `table` and `record` print JSON if the user passed `--json`. */
export interface Printer {
  /** Whether the user passed `--json`. */
  readonly json: boolean
  /**
   * Prints one line on stdout; with `--json` on stderr. Control characters and terminal styles are escaped. On a terminal, a line that is
   * too long continues between words, aligned; with `verbatim` it does not: for code, data and logs, which people copy.
   */
  line(text?: string, options?: { readonly verbatim?: boolean }): void
  /** Prints one line on stderr: the text after `zin <command>: `, or with `--json` the object `{error, message, code}`. */
  error(text: string): void
  /** Awaits `work`. On a terminal, prints once after one second that the command is waiting for `what`; not with `--json`. */
  waiting<T>(what: string, work: Promise<T>): Promise<T>
  /**
   * Shows a progress bar for `what` on stderr, drawn by `update` and removed by `end`; call `end` before printing anything else. Nothing is
   * drawn with `--json` or if stderr is not a terminal.
   */
  progress(what: string): { update(done: number, total: number): void; end(): void }
  /** Prints a table of objects. `columns` defaults to all fields. */
  table<Row extends object>(rows: readonly Row[], columns?: readonly (keyof Row & string)[]): void
  /** Prints the fields of one object. */
  record(value: object): void
}

/** A terminal for prompts. */
export interface Dialog {
  readonly input: Readable
  readonly output: Writable
}

/** HTTP client for the running app. */
export interface AppClient {
  /** Address of the app: `http://127.0.0.1:7777`. */
  readonly baseUrl: string
  /**
   * Sends a request with the headers that plugins add to it (hook `authorizeCommand`) and returns the body of the response. Throws a
   * ZinError with the code and message of the response if its status is not 2xx.
   */
  request<T = unknown>(request: {
    method: string
    path: string
    query?: Readonly<Record<string, string | number | undefined>>
    body?: unknown
    /** Deadline of the response in ms. Default 10000. */
    timeoutMs?: number
    /** What a slow command says it is waiting for. Default: the app. */
    waitingFor?: string
  }): Promise<T>
  /** Returns what plugins add to a request that the command sends itself, such as a stream (hook `authorizeCommand`); undefined if nothing. */
  authorize(request: CommandRequest): Promise<CommandCredential | undefined>
}

/** The context passed to a command's `run`. */
export interface CommandContext<O extends OptionSpecs = OptionSpecs> {
  /** Arguments by name. */
  readonly args: Readonly<Record<string, string | undefined>>
  /** All values of the last argument if it is declared as `repeated`; empty otherwise. */
  readonly repeated: readonly string[]
  /** Values of its options, typed by their declaration. */
  readonly options: OptionValues<O>
  /** Its output. */
  readonly print: Printer
  /** The current working directory. */
  readonly cwd: string
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Present unless `needs` is `nothing`. */
  readonly host: HostView
  /** Present when `needs` is `running app`. */
  readonly app: AppClient
  /** Present on a terminal unless the user passed `--json`. Can be passed to the functions of `@clack/prompts`. */
  readonly dialog: Dialog | undefined
  /**
   * Asks for confirmation; call it before data is lost irrevocably. `loss` describes the loss, as a sentence without a full stop. The user
   * must type the name of the app on a terminal, or pass `--yes`. Throws otherwise.
   */
  confirm(loss: string): Promise<void>
  /** Returns the slot that fires a hook of the core or of a plugin, unless `needs` is `nothing`. */
  slot<N extends keyof HookMap>(name: N): SlotOf<HookMap[N]>
  /** Returns a service, if `needs` is `services`, or after `startServices`. */
  service<T>(ref: ServiceRef<T>): T
  /**
   * With `needs: 'running app'`, for when no process answers: starts the plugin that owns the command with all its dependencies, as
   * `needs: 'services'` does, so that `service` can be called.
   */
  startServices(): Promise<void>
  /** Aborted on Ctrl-C. */
  readonly signal: AbortSignal
}

/**
 * A command of the `zin` CLI. The returned number is the exit code; nothing means 0. Values of `needs`:
 * - `nothing`: the command also runs outside of an app.
 * - `config`: `zin.config.ts` is loaded and plugins are set up; nothing is started.
 * - `services`: like `config`, and the plugin that owns the command is started with all its dependencies; no HTTP, no workers.
 * - `running app`: like `config`, and `app` sends HTTP requests to the running process, see {@link AppClient}.
 */
export interface CommandSpec<O extends OptionSpecs = OptionSpecs> {
  /** `worker:list`, or two words: `queue prune`. */
  readonly name: string
  /** Other names for it. */
  readonly aliases?: readonly string[]
  /** One line for `zin --help`. */
  readonly summary: string
  /** Arguments in order. */
  readonly args?: readonly ArgSpec[]
  /** Options by name as written: `max-backups`. */
  readonly options?: O
  /** Adds `--json`. */
  readonly json?: boolean
  /** Adds `--yes`, for a command that calls `confirm`. */
  readonly confirms?: boolean
  /** Runs until Ctrl-C or SIGTERM aborts `signal`; that counts as success unless the command returns an exit code. */
  readonly serves?: boolean
  /** What runs before it: nothing, `setup` of all plugins (`config`, `running app`), or also `start` of its own plugin (`services`). */
  readonly needs: 'nothing' | 'config' | 'services' | 'running app'
  /**
   * With `running app`: the route that the command calls, as registered: `GET /api/workers/:name`. Where an error message of the app
   * names the route, the command is shown instead, with the parameters as its arguments.
   */
  readonly route?: string
  /**
   * With `services`: plugins to start instead of the one that owns the command, with all their dependencies; or a function that returns them
   * once all plugins are set up.
   */
  readonly starts?: readonly string[] | ((context: Pick<CommandContext, 'host' | 'slot'>) => Promise<readonly string[]>)
  /** With `services`: runs before anything is started. Throw an error to abort. */
  readonly check?: () => void | Promise<void>
  /** Runs the command. The returned number is the exit code; nothing means 0. A thrown error is printed and means 1. */
  run(ctx: CommandContext<O>): number | void | Promise<number | void>
}

// biome-ignore lint/suspicious/noExplicitAny: a command of any shape
export type Command = CommandSpec<any>

/** A command without its functions, for help and for the cache of plugin commands. */
export type CommandShape = Omit<Command, 'run' | 'check' | 'starts'>

/** A command and the plugin that registered it. Core commands have the owner `zin`. */
export interface OwnedCommand<C extends CommandShape = Command> {
  readonly plugin: string
  readonly command: C
}

/**
 * Declares a command with typed options.
 *
 * @example
 * const clear = defineCommand({
 *   name: 'slow-jobs:clear', summary: 'Forget recorded slow jobs', needs: 'running app',
 *   run: ({ app }) => void app.request({ method: 'DELETE', path: '/api/slow-jobs' }),
 * })
 */
export function defineCommand<const O extends OptionSpecs>(command: CommandSpec<O>): CommandSpec<O> {
  return command
}

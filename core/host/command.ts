import type { Readable, Writable } from 'node:stream'
import type { CommandCredential, CommandRequest } from '../hooks/catalogue.js'
import type { ServiceRef } from '../services/ref.js'
import type { HostView } from './view.js'

/** How one command option is read. Values are typed text: `007` stays `007` unless the type says int. */
export type OptionSpec =
  | {
      /** How the text of the command line is read. */
      readonly type: 'string'
      /** One line for `--help`. */
      readonly summary: string
      /** The value when the option is left out. Without one it is undefined then; of a `boolean`, false. */
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

/** Typed option values; keys are the option names as written (`max-backups`). */
export type OptionValues<S extends OptionSpecs> = { readonly [K in keyof S]: OptionValue<S[K]> }

/** How one argument of a command is read. */
export interface ArgSpec {
  /** Key in `ctx.args`, and `<name>` in `--help`. */
  readonly name: string
  /** One line for `--help`. */
  readonly summary: string
  /** Default true. */
  readonly required?: boolean
}

/** Where a command writes. `table` and `record` print JSON when the user passed `--json`. */
export interface Printer {
  /** Whether the user passed `--json`. */
  readonly json: boolean
  /** One line on stdout; with `--json` on stderr. */
  line(text?: string): void
  /** One line on stderr: after `zin <command>: `, or with `--json` the object `{error, message, code}`. */
  error(text: string): void
  /** Waits for `work`. After one second, a terminal shows once that the command is waiting for `what`; not with `--json`. */
  waiting<T>(what: string, work: Promise<T>): Promise<T>
  /**
   * A bar for `what` on stderr, drawn by `update` and removed by `end`; call that before printing anything else. Nothing is drawn unless
   * stderr is a terminal, nor with `--json`.
   */
  progress(what: string): { update(done: number, total: number): void; end(): void }
  /** Rows are objects of any type, interfaces included. Without `columns`: all fields. */
  table<Row extends object>(rows: readonly Row[], columns?: readonly (keyof Row & string)[]): void
  /** The fields of one object. */
  record(value: object): void
}

/** A terminal for prompts. */
export interface Dialog {
  readonly input: Readable
  readonly output: Writable
}

/** HTTP to the running app. */
export interface AppClient {
  /** Where the app listens: `http://127.0.0.1:7777`. */
  readonly baseUrl: string
  /**
   * Sends a request, with the headers that plugins add to it (hook `authorizeCommand`), and returns the body of the response. A
   * response that is not 2xx throws a ZinError with its code and message.
   */
  request<T = unknown>(request: {
    method: string
    path: string
    query?: Readonly<Record<string, string | number | undefined>>
    body?: unknown
    /** How long the response may take, in ms. Default 10000. */
    timeoutMs?: number
    /** What a slow command reports to be waiting for. Default: the app. */
    waitingFor?: string
  }): Promise<T>
  /** What plugins add to a request of the command's own (hook `authorizeCommand`), such as one that streams; undefined: nothing. */
  authorize(request: CommandRequest): Promise<CommandCredential | undefined>
}

/** The context passed to a command's `run`. */
export interface CommandContext<O extends OptionSpecs = OptionSpecs> {
  /** Arguments by name. */
  readonly args: Readonly<Record<string, string | undefined>>
  /** Values of its options, typed by their declaration. */
  readonly options: OptionValues<O>
  /** Where it writes. */
  readonly print: Printer
  /** The current working directory. */
  readonly cwd: string
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Present unless `needs` is `nothing`. */
  readonly host: HostView
  /** Present when `needs` is `running app`. */
  readonly app: AppClient
  /** Present on a terminal, unless the user passed `--json`. It can be passed to the functions of `@clack/prompts`. */
  readonly dialog: Dialog | undefined
  /**
   * Call it before data is lost irrevocably; `loss` describes the loss, as a sentence without a full stop. On a terminal the user has
   * to type the name of the app; elsewhere the user has to pass `--yes`. Throws otherwise.
   */
  confirm(loss: string): Promise<void>
  /** A service, when `needs` is `services`. */
  service<T>(ref: ServiceRef<T>): T
  /** Aborted on Ctrl-C. */
  readonly signal: AbortSignal
}

/**
 * A command of the `zin` CLI. The returned number is the exit code; nothing means 0.
 * - `nothing`: runs outside of an app.
 * - `config`: `zin.config.ts` is loaded and plugins are set up, nothing is started.
 * - `services`: as `config`, and the plugin that owns the command is started with all it depends on; no HTTP, no workers.
 * - `running app`: as `config`, and `app` sends HTTP requests to the running process, see {@link AppClient}.
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
  /** It runs until Ctrl-C or SIGTERM aborts `signal`, and is then a success unless it returns a code of its own. */
  readonly serves?: boolean
  /** What runs before it: nothing, `setup` of the plugins (`config`, `running app`), or also `start` of its own one (`services`). */
  readonly needs: 'nothing' | 'config' | 'services' | 'running app'
  /**
   * With `running app`: the route that the command calls, as registered: `GET /api/workers/:name`. A message of the app that
   * refers to the route then refers to the command, with the parameters as its arguments.
   */
  readonly route?: string
  /** With `services`: plugins to start instead of the one that owns the command, with all they depend on. */
  readonly starts?: readonly string[]
  /** With `services`: runs before anything is started; throw to refuse. */
  readonly check?: () => void | Promise<void>
  /** Does the work. The returned number is the exit code; nothing means 0, and an error is printed and means 1. */
  run(ctx: CommandContext<O>): number | void | Promise<number | void>
}

// biome-ignore lint/suspicious/noExplicitAny: a command of any shape
export type Command = CommandSpec<any>

/** A command without its functions: what help needs, and what the cache of plugin commands holds. */
export type CommandShape = Omit<Command, 'run' | 'check'>

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

import { type CAC, type Command as CacCommand, cac } from 'cac'
import type { Command, CommandShape, OptionSpec, OwnedCommand } from '../host/command.js'
import { suggest } from '../util/suggest.js'
import { cliErrors, UsageError } from './errors.js'
import { optionsOf } from './options.js'
import { wrapWords } from './table.js'

export interface Match<C extends CommandShape = Command> extends OwnedCommand<C> {
  /** Arguments after the command's name. */
  readonly rest: readonly string[]
}

const generalOptions = [
  ['-h, --help', 'Show help; also after a command'],
  ['-v, --version', 'Show the version'],
] as const

/** Minimum columns for text next to names. */
const proseRoom = 24

export interface ProgramOptions {
  readonly version: string
  /** Last line of the general help. */
  readonly note?: string
  /** Columns of the terminal that help is wrapped to; absent for a pipe, where each command has one line. */
  readonly room?: number
}

/**
 * The command table: finds a command and prints help, both with cac. Option values are parsed in `options.ts`, because
 * cac converts text such as `007` to numbers.
 */
export class Program<C extends CommandShape = CommandShape> {
  readonly #cli: CAC
  readonly #entries = new Map<CacCommand, OwnedCommand<C>>()
  readonly #note: string | undefined
  readonly #room: number | undefined

  constructor(entries: readonly OwnedCommand<C>[], options: ProgramOptions) {
    refuseConflicts(entries)
    this.#note = options.note
    this.#room = options.room
    this.#cli = cac('zin')
    // cac pads the lines of options.
    this.#cli.help((sections) => this.#helpSections(sections).map((section) => ({ ...section, body: section.body.replace(/ +$/gm, '') })))
    this.#cli.version(options.version)
    for (const entry of entries) this.#entries.set(this.#register(entry.command), entry)
  }

  /** Returns the command that `argv` starts with, or undefined. */
  find(argv: readonly string[]): Match<C> | undefined {
    // cac matches a single token, so a name of two words is passed as one.
    for (const words of [2, 1]) {
      if (argv.length < words) continue
      const matched = this.#match(argv.slice(0, words).join(' '))
      if (matched !== undefined) return { ...matched, rest: argv.slice(words) }
    }
    return undefined
  }

  /** Prints the help of one command. */
  printHelpOf(name: string): void {
    this.#match(name)
    this.#cli.outputHelp()
  }

  /** Prints all commands. */
  printHelp(): void {
    this.#cli.unsetMatchedCommand()
    this.#cli.outputHelp()
  }

  printVersion(): void {
    this.#cli.outputVersion()
  }

  /**
   * Returns the error for an unknown command.
   *
   * @param advice shown if no known command is similar.
   * @param owner says what to do for a command that the app lacks.
   */
  unknown(argv: readonly string[], advice = 'see "zin help"', owner?: (name: string) => string | undefined): UsageError {
    const [word = '', second = ''] = argv
    for (const name of [`${word} ${second}`, word]) {
      const missing = owner?.(name)
      if (missing !== undefined) return new UsageError(`unknown command "${name}"; ${missing}`)
    }
    if (word.startsWith('-')) return new UsageError(`unknown option ${word}; the command comes first: zin <command> [options]`)
    const names = [...this.#entries.values()].flatMap(({ command }) => [command.name, ...(command.aliases ?? [])])
    const family = names.filter((name) => name.startsWith(`${word} `) || name.startsWith(`${word}:`))
    const alone = family.length > 0 ? undefined : suggest(word, names)
    const near = alone ?? (second === '' ? undefined : (suggest(`${word} ${second}`, names) ?? suggest(`${word}:${second}`, names)))
    const hint = near !== undefined ? `did you mean "${near}"?` : family.length > 0 ? `available: ${family.join(', ')}` : advice
    return new UsageError(`unknown command "${word}"; ${hint}`)
  }

  #register(command: CommandShape): CacCommand {
    const args = (command.args ?? []).map((arg) => {
      const name = arg.repeated === true ? `...${arg.name}` : arg.name
      return arg.required === false ? `[${name}]` : `<${name}>`
    })
    const registered = this.#cli.command([command.name, ...args].join(' '), command.summary)
    for (const alias of command.aliases ?? []) registered.alias(alias)
    return registered
  }

  #match(name: string): OwnedCommand<C> | undefined {
    if (name.startsWith('-')) return undefined
    this.#cli.unsetMatchedCommand()
    // Only the name: cac must not parse the rest of the line.
    this.#cli.parse(['node', 'zin', name], { run: false })
    const matched = this.#cli.matchedCommand
    return matched === undefined ? undefined : this.#entries.get(matched)
  }

  #helpSections(sections: { title?: string; body: string }[]): { title?: string; body: string }[] {
    const matched = this.#cli.matchedCommand
    const entry = matched === undefined ? undefined : this.#entries.get(matched)
    if (entry === undefined)
      return [...sections.slice(0, 2), ...this.#groups(), { title: 'Options', body: this.#columns(generalOptions) }, ...this.#noteSection()]
    const { command, plugin } = entry
    const facts = [
      command.summary,
      ...(command.aliases?.length ? [`Also: ${command.aliases.join(', ')}`] : []),
      ...(plugin === 'zin' ? [] : [`Provided by the plugin ${plugin}`]),
    ]
    const args = (command.args ?? []).map((arg) => [arg.name, arg.summary] as const)
    const options = Object.entries(optionsOf(command)).map(([name, spec]) => [rawOption(name, spec), describeOption(spec)] as const)
    const [head, usage] = sections
    return [
      ...(head ? [head] : []),
      { body: facts.flatMap((fact) => (this.#room === undefined ? [fact] : wrapWords(fact, this.#room))).join('\n') },
      ...(usage ? [usage] : []),
      ...(args.length > 0 ? [{ title: 'Arguments', body: this.#columns(args) }] : []),
      { title: 'Options', body: this.#columns([...options, ['-h, --help', 'Show this help']]) },
    ]
  }

  #groups(): { title: string; body: string }[] {
    const owners = new Map<string, (readonly [string, string])[]>()
    for (const [registered, { plugin, command }] of this.#entries) {
      const rows = owners.get(plugin) ?? []
      rows.push([registered.rawName, command.summary])
      owners.set(plugin, rows)
    }
    return [...owners].map(([owner, rows]) => ({ title: owner === 'zin' ? 'Commands' : `Plugin ${owner}`, body: this.#columns(rows) }))
  }

  /** Lays out names and descriptions side by side, or below each other if the terminal is too narrow. */
  #columns(rows: readonly (readonly [string, string])[]): string {
    const width = Math.max(...rows.map(([left]) => left.length))
    const room = (this.#room ?? Number.POSITIVE_INFINITY) - width - 4
    if (room < proseRoom)
      return rows.flatMap(([left, right]) => [`  ${left}`, ...wrapWords(right, room + width - 2).map((line) => `      ${line}`)]).join('\n')
    return rows
      .map(([left, right]) => `  ${left.padEnd(width)}  ${wrapWords(right, room).join(`\n${' '.repeat(width + 4)}`)}`.trimEnd())
      .join('\n')
  }

  #noteSection(): { body: string }[] {
    return this.#note === undefined ? [] : [{ body: this.#note }]
  }
}

function refuseConflicts(entries: readonly OwnedCommand<CommandShape>[]): void {
  const owners = new Map<string, string>()
  for (const { plugin, command } of entries) {
    for (const name of [command.name, ...(command.aliases ?? [])]) {
      const other = owners.get(name)
      if (other !== undefined) throw cliErrors.ZIN_COMMAND_CONFLICT(name, other, plugin)
      owners.set(name, plugin)
    }
  }
}

function rawOption(name: string, spec: OptionSpec): string {
  const value = spec.type === 'boolean' ? '' : ` <${spec.type === 'string' ? 'text' : spec.type}>`
  return `${spec.short === undefined ? '' : `-${spec.short}, `}--${name}${value}`
}

function describeOption(spec: OptionSpec): string {
  const values = spec.type === 'string' && spec.values !== undefined ? ` (${spec.values.join(', ')})` : ''
  return `${spec.summary}${values}${spec.default === undefined || spec.default === false || spec.default === '' ? '' : ` (default: ${spec.default})`}`
}

import { parseArgs } from 'node:util'
import type { CommandShape, OptionSpec, OptionSpecs } from '../host/command.js'
import { numberWords } from '../util/number-words.js'
import { suggest } from '../util/suggest.js'
import { UsageError } from './errors.js'

export interface ParsedArguments {
  readonly args: Readonly<Record<string, string | undefined>>
  readonly repeated: readonly string[]
  readonly options: Readonly<Record<string, string | number | boolean | undefined>>
}

const jsonOption = { json: { type: 'boolean', summary: 'Print JSON' } } satisfies OptionSpecs

const yesOption = { yes: { type: 'boolean', summary: 'Skip the confirmation before data is lost' } } satisfies OptionSpecs

const appOptions = {
  url: { type: 'string', summary: 'Address of the app; default: the running app of this folder' },
  host: { type: 'string', summary: 'Host of the app' },
  port: { type: 'int', summary: 'Port of the app', min: 1, max: 65_535 },
} satisfies OptionSpecs

/** Returns all options of a command: its own, and those that `json`, `confirms` and `needs` add. Its own take precedence. */
export function optionsOf(command: CommandShape): OptionSpecs {
  return {
    ...(command.needs === 'running app' ? appOptions : {}),
    ...(command.json ? jsonOption : {}),
    ...(command.confirms ? yesOption : {}),
    ...command.options,
  }
}

/** Whether the command line requests help anywhere before `--`. */
export function asksForHelp(argv: readonly string[]): boolean {
  return beforeDashes(argv).some((word) => word === '--help' || word === '-h')
}

/** Whether the command line, which may be invalid, requests JSON anywhere before `--`. */
export function asksForJson(argv: readonly string[]): boolean {
  return beforeDashes(argv).includes('--json')
}

function beforeDashes(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end < 0 ? argv : argv.slice(0, end)
}

/**
 * Parses the arguments and options after a command's name. Values are text unless the option's type says otherwise.
 * Throws a {@link UsageError}.
 */
export function parseArguments(command: CommandShape, argv: readonly string[]): ParsedArguments {
  const specs = optionsOf(command)
  const { values, positionals } = parseStrictly(specs, argv)
  const options = Object.entries(specs).map(([name, spec]) => [name, optionValue(name, spec, values[name])])
  const { args = [] } = command
  const repeated = args.at(-1)?.repeated === true ? positionals.slice(args.length - 1) : []
  return { args: namedArguments(command, positionals), repeated, options: Object.fromEntries(options) }
}

type RawValues = Readonly<Record<string, string | boolean | undefined>>

function parseStrictly(specs: OptionSpecs, argv: readonly string[]): { values: RawValues; positionals: readonly string[] } {
  const options = Object.entries(specs).map(([name, { type, short }]) => [
    name,
    { type: type === 'boolean' ? 'boolean' : 'string', ...(short === undefined ? {} : { short }) },
  ])
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: Object.fromEntries(options),
      strict: true,
      allowPositionals: true,
      allowNegative: true,
    })
    return { values: values as RawValues, positionals }
  } catch (error) {
    throw usageErrorOf(error as NodeJS.ErrnoException, Object.keys(specs))
  }
}

function usageErrorOf(error: NodeJS.ErrnoException, names: readonly string[]): UsageError {
  const [, given = ''] = /'(?:-\w, )?(-[^' ]*)/.exec(error.message) ?? []
  if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const near = suggest(given.replace(/^-+/, ''), names)
    const hint =
      near !== undefined
        ? `did you mean --${near}?`
        : names.length > 0
          ? `known options: ${names.map((name) => `--${name}`).join(', ')}`
          : 'the command has no options'
    return new UsageError(`unknown option ${given}; ${hint}`)
  }
  // Node's message spans several lines and contains advice about its API, so it is replaced.
  return new UsageError(
    /does not take an argument/.test(error.message)
      ? `option ${given} takes no value`
      : `option ${given} needs a value; write a value that begins with "-" as ${given}=…`,
  )
}

function optionValue(name: string, spec: OptionSpec, given: string | boolean | undefined): string | number | boolean | undefined {
  if (given === undefined) return spec.default ?? (spec.type === 'boolean' ? false : undefined)
  if (typeof given === 'boolean') return given
  if (spec.type === 'int' || spec.type === 'number') return numberOf(name, spec, given)
  if (spec.type === 'string' && spec.values !== undefined && !spec.values.includes(given)) {
    throw new UsageError(`option --${name} must be one of ${spec.values.join(', ')}, not "${given}"`)
  }
  return given
}

function numberOf(name: string, spec: OptionSpec & { type: 'int' | 'number' }, text: string): number {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = spec
  const value = /^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
  const valid = value >= min && value <= max && (spec.type === 'int' ? Number.isSafeInteger(value) : Number.isFinite(value))
  if (valid) return value
  throw new UsageError(`option --${name} must be ${numberWords(spec.type, spec)}, not "${text}"`)
}

function namedArguments({ args = [] }: CommandShape, given: readonly string[]): Record<string, string | undefined> {
  const missing = args.find((arg, index) => arg.required !== false && (given[index] ?? '') === '')
  if (missing !== undefined) throw new UsageError(`missing argument <${missing.name}>: ${missing.summary}`)
  const extra = given[args.length]
  if (extra !== undefined && args.at(-1)?.repeated !== true)
    throw new UsageError(
      `unexpected argument "${extra}"; ${args.length === 0 ? 'the command takes no arguments' : `the command takes ${args.map((arg) => arg.name).join(', ')}`}`,
    )
  return Object.fromEntries(args.map((arg, index) => [arg.name, given[index]]))
}

import { isRequired } from '../config/options.js'
import type { SettingSpec, SettingSpecs } from '../config/settings.js'
import type { ErrorTable } from '../errors.js'
import type { PackageUses } from '../host/packages.js'
import type { AnyPluginSpec } from '../host/plugin.js'

/** A table of a README: the cells of its head and of each row. */
export interface ReadmeTable {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Generates the tables of a plugin's declarations, by section. Empty tables are omitted. */
export function declaredTables(
  spec: Pick<AnyPluginSpec, 'options' | 'settings' | 'packages' | 'errors'>,
): Readonly<Record<string, ReadmeTable>> {
  const tables = {
    Options: { head: ['option', 'type', 'default', 'meaning'], rows: optionRows(spec.options) },
    Settings: { head: ['setting', 'type', 'default', 'meaning'], rows: settingRows((spec.settings ?? {}) as SettingSpecs) },
    Packages: { head: ['package', 'needed'], rows: packageRows((spec.packages ?? {}) as PackageUses) },
    Errors: { head: ['code', 'status', 'when', 'what to do'], rows: errorRows(spec.errors ?? {}) },
  }
  return Object.fromEntries(Object.entries(tables).filter(([, { rows }]) => rows.length > 0))
}

function optionRows(options: AnyPluginSpec['options']): ReadmeTable['rows'] {
  const { properties = {} } = (options?.schema ?? {}) as { readonly properties?: Readonly<Record<string, OptionSchema>> }
  const defaults = (options?.defaults ?? {}) as Readonly<Record<string, unknown>>
  return Object.entries(properties).map(([name, schema]) => [
    `\`${name}\``,
    optionType(schema),
    defaultWords(defaults[name]),
    schema.description ?? '',
  ])
}

function settingRows(settings: SettingSpecs): ReadmeTable['rows'] {
  return Object.entries(settings).map(([name, spec]) => [`\`${name}\``, settingType(spec), defaultWords(spec.default), spec.summary])
}

function packageRows(packages: PackageUses): ReadmeTable['rows'] {
  return Object.entries(packages).map(([name, { when }]) => [`\`${name}\``, when === undefined ? 'always' : `when ${when}`])
}

function errorRows(errors: ErrorTable): ReadmeTable['rows'] {
  return Object.entries(errors).map(([code, { row }]) => [`\`${code}\``, String(row.status ?? '–'), row.when ?? '', row.fix ?? ''])
}

interface OptionSchema {
  readonly type?: string
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly OptionSchema[]
  readonly items?: OptionSchema
  readonly minimum?: number
  readonly maximum?: number
  readonly description?: string
  readonly 'x-function'?: true
}

function optionType(schema: OptionSchema): string {
  if (schema['x-function']) return 'function'
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(optionType))].join(', ')
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  if (values.length > 0) return values.map((value) => code(String(value))).join(', ')
  if (schema.type === 'array') return `list of ${optionType(schema.items ?? {})}`
  return `${schema.type ?? 'any'}${schema.format === undefined ? '' : ` (${schema.format})`}${limits(schema.minimum, schema.maximum)}`
}

function settingType(spec: SettingSpec): string {
  switch (spec.type) {
    case 'family':
      return 'strings by name'
    case 'enum':
      return spec.values.map(code).join(', ')
    case 'int':
      return `integer${limits(spec.min, spec.max)}`
    case 'number':
      return `number${limits(spec.min, spec.max)}`
    case 'string':
      return spec.secret ? 'secret' : 'string'
    case 'bool':
      return 'boolean'
    case 'list':
      return 'comma-separated list'
  }
}

function limits(min: number | undefined, max: number | undefined): string {
  if (min === undefined && max === undefined) return ''
  if (max === undefined) return `, from ${min}`
  return min === undefined ? `, up to ${max}` : `, ${min} to ${max}`
}

function defaultWords(value: unknown): string {
  if (isRequired(value)) return 'required'
  if (value === undefined) return 'none'
  if (value === '') return 'empty'
  return code(typeof value === 'string' ? value : JSON.stringify(value))
}

const code = (text: string): string => `\`${text}\``

/** Formats a table as Markdown. */
export function markdownTable({ head, rows }: ReadmeTable): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

/** Returns the rows of the first table under `## <section>`; empty without a table. */
export function tableRows(markdown: string, section: string): readonly (readonly string[])[] {
  const [start, end] = tableLines(markdown, section)
  return markdown.split('\n').slice(start, end).slice(2).map(cellsOf)
}

/** Replaces or inserts the first table under `## <section>`. A missing section is appended. */
export function withTable(markdown: string, section: string, table: ReadmeTable): string {
  const lines = markdown.split('\n')
  const heading = lines.indexOf(`## ${section}`)
  if (heading < 0) return `${markdown.trimEnd()}\n\n## ${section}\n\n${markdownTable(table)}\n`
  const [start, end] = tableLines(markdown, section)
  const added = start === end
  lines.splice(added ? heading + 1 : start, end - start, ...(added ? ['', markdownTable(table)] : [markdownTable(table)]))
  return lines.join('\n')
}

/** Returns the start and end line of the first table of a section. */
function tableLines(markdown: string, section: string): readonly [number, number] {
  const lines = markdown.split('\n')
  const heading = lines.findIndex((line) => line.trimEnd() === `## ${section}`)
  const isOf = (index: number): boolean => lines[index] !== undefined && !lines[index].startsWith('## ')
  let start = heading + 1
  while (heading >= 0 && isOf(start) && !lines[start]?.startsWith('|')) start++
  if (heading < 0 || !lines[start]?.startsWith('|')) return [0, 0]
  let end = start
  while (lines[end]?.startsWith('|')) end++
  return [start, end]
}

function cellsOf(line: string): readonly string[] {
  return line
    .trim()
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))
}

/** Returns the first cell of each row of the table under `## <section>`, without backticks; two cells for `columns: 2`. */
export function tableKeys(markdown: string, section: string, columns = 1): readonly string[] {
  return tableRows(markdown, section).map((cells) => cells.slice(0, columns).join(' ').replaceAll('`', ''))
}

/** `worker:status <name> [--json]` → `worker:status`. */
export function commandName(usage: string): string {
  return usage.split(/\s+(?=[<[-])/)[0] ?? usage
}

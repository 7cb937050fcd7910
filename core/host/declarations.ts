import { type OptionsDeclaration, optionsProblems } from '../config/options.js'
import { settingProblem } from '../config/read-settings.js'
import type { SettingSpec, SettingSpecs } from '../config/settings.js'
import type { ErrorFactory, ErrorTable } from '../errors.js'
import type { AnyPluginSpec } from './plugin.js'

export interface DeclarationProblem {
  readonly plugin: string
  readonly problem: string
}

/** Returns the problems of plugin declarations, including conflicts between them: plugin, field, and how to fix it. */
export function declarationProblems(specs: readonly AnyPluginSpec[]): readonly DeclarationProblem[] {
  const own = specs.flatMap((spec) => {
    const problems = [
      ...optionsProblems(spec.options as OptionsDeclaration | undefined),
      ...settingProblems((spec.settings ?? {}) as SettingSpecs),
      ...developmentProblems(spec),
      ...errorProblems(spec.errors ?? {}),
      ...phaseProblems(spec),
      ...attentionProblems(spec.attention ?? {}),
      ...methodProblems(spec.methods ?? {}),
    ]
    return problems.map((problem) => ({ plugin: spec.name, problem }))
  })
  return [...own, ...statusConflicts(specs), ...methodConflicts(specs)]
}

const constantName = /^[A-Z][A-Z0-9_]*$/
const kindName = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const familyName = /^[A-Z][A-Z0-9_]*_\*$/

/** A plugin that provides something does so in `setup`, and whatever it does, it does in a phase or by what it declares. */
function phaseProblems(spec: AnyPluginSpec): readonly string[] {
  const { methods = {}, provides = [], routes, setup } = spec
  const problems = (['setup', 'start', 'ready', 'stop'] as const).flatMap((phase) =>
    spec[phase] === undefined || typeof spec[phase] === 'function' ? [] : [`"${phase}" must be a function (ctx) => …`],
  )
  if (routes !== undefined && !Array.isArray(routes)) problems.push('"routes" must be a list of what defineRoute({ … }) returns')
  const owed = [...provides.map(({ id }) => `"provides" lists "${id}"`), ...Object.keys(methods).map((name) => `"methods" lists "${name}"`)]
  if (setup === undefined) problems.push(...owed.map((what) => `${what}, and there is no "setup" that adds it`))
  return problems
}

function settingProblems(settings: SettingSpecs): readonly string[] {
  return Object.entries(settings).flatMap(([name, spec]) => {
    if (!(spec?.type === 'family' ? familyName : constantName).test(name))
      return [`the setting "${name}" is not a valid environment variable name; use uppercase letters, digits and "_"`]
    const problem = settingProblem(spec as SettingSpec)
    return problem === undefined ? [] : [`the setting "${name}" has an invalid declaration: ${problem}`]
  })
}

function developmentProblems({ settings = {}, developmentDefaults = {} }: AnyPluginSpec): readonly string[] {
  return Object.entries(developmentDefaults).flatMap(([name, value]) => {
    const spec = (settings as SettingSpecs)[name]
    if (spec === undefined) return [`"developmentDefaults" has "${name}", which "settings" does not declare`]
    const problem = settingProblem({ ...spec, default: value } as SettingSpec)
    return problem === undefined ? [] : [`"developmentDefaults" has an invalid value for "${name}": ${problem}`]
  })
}

function errorProblems(errors: ErrorTable): readonly string[] {
  return Object.entries(errors).flatMap(([code, factory]) => {
    const problem = errorProblem(code, factory)
    return problem === undefined ? [] : [`the error "${code}" has an invalid declaration: ${problem}`]
  })
}

function errorProblem(code: string, factory: ErrorFactory): string | undefined {
  if (typeof factory !== 'function' || factory.row === undefined) return '"errors" must be what defineErrors({ … }) returns'
  const { status, message } = factory.row
  if (!constantName.test(code)) return 'a code must consist of uppercase letters, digits and "_"'
  if (factory.code !== code) return `it was defined as "${factory.code}"; list it under that code`
  if (typeof message !== 'function') return '"message" must be a function that returns the text'
  if (status !== undefined && !(Number.isInteger(status) && status >= 400 && status <= 599))
    return `"status" is ${String(status)}; use 400 to 599, or leave it out for an error that never appears in a response`
  return undefined
}

function attentionProblems(kinds: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(kinds).flatMap((kind) =>
    kindName.test(kind) ? [] : [`the kind "${kind}" of attention is not kebab-case, such as "mailbox-full"`],
  )
}

const methodName = /^[a-z][A-Za-z0-9]*$/

function methodProblems(methods: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(methods).flatMap((name) =>
    methodName.test(name) ? [] : [`the method "${name}" must be camelCase, such as "mailbox"`],
  )
}

/** Finds methods that several plugins add. */
function methodConflicts(specs: readonly AnyPluginSpec[]): readonly DeclarationProblem[] {
  const first = new Map<string, string>()
  return specs.flatMap(({ name, methods = {} }) =>
    Object.keys(methods).flatMap((method) => {
      const owner = first.get(method)
      if (owner === undefined) first.set(method, name)
      return owner === undefined || owner === name
        ? []
        : [{ plugin: name, problem: `plugin "${owner}" already adds the method "${method}"; rename one of them` }]
    }),
  )
}

/** Finds codes declared with different statuses. A client may rely on a code having one status. */
function statusConflicts(specs: readonly AnyPluginSpec[]): readonly DeclarationProblem[] {
  const first = new Map<string, { readonly plugin: string; readonly status: number | undefined }>()
  return specs.flatMap(({ name, errors = {} }) =>
    Object.entries(errors as ErrorTable).flatMap(([code, factory]) => {
      const status = factory.row?.status
      const known = first.get(code)
      if (known === undefined) first.set(code, { plugin: name, status })
      if (known === undefined || known.status === status) return []
      const problem = `the error "${code}" has status ${status ?? 'none'}, and plugin "${known.plugin}" declares it with ${known.status ?? 'none'}; rename one of them`
      return [{ plugin: name, problem }]
    }),
  )
}

import { isDeepStrictEqual } from 'node:util'
import type { Middleware } from 'koa'
import type { Disposer } from '../util/disposer.js'
import { suggest } from '../util/suggest.js'
import { httpErrors } from './errors.js'
import {
  keyOfEntry,
  type RouteMiddleware,
  type SecurityRequirement,
  type SecurityScheme,
  type UseEntry,
  type UsePhase,
} from './middleware.js'
import { middlewareProblems } from './middleware-check.js'

interface Keyed {
  readonly plugin: string
  readonly middleware: RouteMiddleware
}

interface Wrap {
  readonly plugin: string
  readonly middleware: Middleware
}

interface Global extends Wrap {
  readonly phase: UsePhase
}

/** An inconsistency between the middleware of an app. */
export interface MiddlewareProblem {
  readonly plugins: readonly string[]
  readonly key: string
  readonly problem: string
}

/** Middleware by key, which routes list in `use`, and global middleware, which runs for every request. */
export class MiddlewareRegistry {
  readonly #keyed = new Map<string, Keyed>()
  readonly #globals = new Set<Global>()
  readonly #wraps = new Set<Wrap>()

  get keys(): readonly string[] {
    return [...this.#keyed.keys()]
  }

  /** Throws `ZIN_MIDDLEWARE_INVALID`, or `ZIN_MIDDLEWARE_TAKEN` if the key already has an owner. */
  add(plugin: string, middleware: RouteMiddleware): Disposer {
    const problems = middlewareProblems(middleware)
    if (problems.length > 0) throw httpErrors.ZIN_MIDDLEWARE_INVALID(plugin, keyOf(middleware), problems)
    const { key } = middleware
    const owner = this.#keyed.get(key)
    if (owner) throw httpErrors.ZIN_MIDDLEWARE_TAKEN(plugin, key, owner.plugin)
    const keyed = { plugin, middleware }
    this.#keyed.set(key, keyed)
    return () => {
      if (this.#keyed.get(key) === keyed) this.#keyed.delete(key)
    }
  }

  addGlobal(plugin: string, middleware: Middleware, phase: UsePhase = 'global'): Disposer {
    const entry = { plugin, middleware, phase }
    this.#globals.add(entry)
    return () => void this.#globals.delete(entry)
  }

  addWrap(plugin: string, middleware: Middleware): Disposer {
    const entry = { plugin, middleware }
    this.#wraps.add(entry)
    return () => void this.#wraps.delete(entry)
  }

  /** Returns the middleware of phases, in their order; within a phase by rank of its plugin, then in order of registration. */
  globals(rank: (plugin: string) => number, phases: readonly UsePhase[]): readonly Middleware[] {
    const globals = [...this.#globals]
    return phases.flatMap((phase) =>
      inOrder(
        globals.filter((entry) => entry.phase === phase),
        rank,
      ),
    )
  }

  /** Returns the middleware around everything, likewise. */
  wraps(rank: (plugin: string) => number): readonly Middleware[] {
    return inOrder(this.#wraps, rank)
  }

  ownerOf(key: string): string | undefined {
    return this.#keyed.get(key)?.plugin
  }

  /** Returns other plugins whose middleware replaces one of this plugin's. */
  replacersOf(plugin: string): readonly string[] {
    return [...this.#keyed.values()].flatMap(({ plugin: other, middleware: { replaces } }) =>
      other !== plugin && replaces !== undefined && this.ownerOf(replaces) === plugin ? [other] : [],
    )
  }

  /** Returns the middleware of a route in order. A middleware directly followed by its replacement is skipped. */
  handlersFor(use: readonly UseEntry[]): readonly Middleware[] {
    return this.#inForce(use).map(withState)
  }

  /**
   * Returns the responder key for each middleware of a route: a middleware that is followed by its replacement, not necessarily directly,
   * uses the key of the replacement, so that a client cannot tell which of the two rejected it.
   */
  refusalKeysFor(use: readonly UseEntry[]): ReadonlyMap<string, string> {
    const keys = use.map((entry, i) => {
      const key = keyOfEntry(entry)
      const replacement = use.slice(i + 1).find((later) => this.#find(later)?.middleware.replaces === key)
      return [key, replacement === undefined ? key : keyOfEntry(replacement)] as const
    })
    return new Map(keys)
  }

  /**
   * Returns the credentials that a route requires: any one entry of the list is sufficient. Empty for a public route, `undefined` if its
   * middleware declare none.
   */
  securityFor(use: readonly UseEntry[]): readonly SecurityRequirement[] | undefined {
    if (use.length === 0) return []
    const declared = this.#inForce(use).flatMap(({ middleware: { security } }) => (security === undefined ? [] : [security]))
    if (declared.length === 0) return undefined
    return declared.reduce((all, next) => all.flatMap((one) => next.map((other) => ({ ...one, ...other }))))
  }

  /** Returns the credentials that a middleware requires; `undefined` if it declares none, or is unknown. */
  securityOf(entry: UseEntry): readonly SecurityRequirement[] | undefined {
    return this.#find(entry)?.middleware.security
  }

  /** Returns inconsistencies: unknown keys in `replaces`, state that a replacement omits, and different schemes with the same name. */
  problems(): readonly MiddlewareProblem[] {
    return [...[...this.#keyed.values()].flatMap((keyed) => this.#replacementProblems(keyed)), ...this.#schemeProblems()]
  }

  /** A middleware that a route lists itself belongs to that route. */
  #find(entry: UseEntry): Keyed | undefined {
    return typeof entry === 'string' ? this.#keyed.get(entry) : { plugin: 'of the route', middleware: entry }
  }

  #inForce(use: readonly UseEntry[]): readonly Keyed[] {
    const listed = use.map((entry) => {
      const keyed = this.#find(entry)
      if (keyed === undefined) throw new Error(`no middleware has the key "${keyOfEntry(entry)}"`)
      return keyed
    })
    return listed.filter(({ middleware: { key } }, i) => listed[i + 1]?.middleware.replaces !== key)
  }

  #replacementProblems({ plugin, middleware: { key, replaces, state = [] } }: Keyed): readonly MiddlewareProblem[] {
    if (replaces === undefined) return []
    const replaced = this.#keyed.get(replaces)
    if (replaced === undefined) {
      const near = suggest(replaces, this.keys)
      const fix = near === undefined ? 'enable the plugin that registers it, or remove "replaces"' : `did you mean "${near}"?`
      return [{ plugins: [plugin], key, problem: `its "replaces" is "${replaces}", a key that no plugin registers; ${fix}` }]
    }
    const missing = (replaced.middleware.state ?? []).filter((field) => !state.includes(field))
    if (missing.length === 0) return []
    const problem = `it replaces "${replaces}" without its state ${missing.join(', ')}; set that before next() and list it in "state"`
    return [{ plugins: [plugin, replaced.plugin], key, problem }]
  }

  #schemeProblems(): readonly MiddlewareProblem[] {
    const known = new Map<string, { readonly plugin: string; readonly scheme: SecurityScheme }>()
    const problems = new Map<string, MiddlewareProblem>()
    for (const { plugin, middleware } of this.#keyed.values()) {
      const { key, security = [] } = middleware
      for (const [name, scheme] of security.flatMap((requirement) => Object.entries(requirement))) {
        const first = known.get(name)
        if (first === undefined) known.set(name, { plugin, scheme })
        else if (!isDeepStrictEqual(first.scheme, scheme)) {
          const problem = `its security scheme "${name}" differs from the one of plugin "${first.plugin}"; rename one of them`
          problems.set(`${key} ${name}`, { plugins: [plugin, first.plugin], key, problem })
        }
      }
    }
    return [...problems.values()]
  }
}

function inOrder(entries: Iterable<Wrap>, rank: (plugin: string) => number): readonly Middleware[] {
  return [...entries].sort((a, b) => rank(a.plugin) - rank(b.plugin)).map((entry) => entry.middleware)
}

/** Wraps the handler to fail a request if it calls `next()` without setting the state it declares. */
function withState({ plugin, middleware: { key, handler, state = [] } }: Keyed): Middleware {
  if (state.length === 0) return handler
  return (ctx, next) =>
    handler(ctx, () => {
      for (const field of state)
        if (ctx.state[field] === undefined) return Promise.reject(httpErrors.MIDDLEWARE_STATE_MISSING(plugin, key, field))
      return next()
    })
}

function keyOf(middleware: unknown): string {
  const { key } = (typeof middleware === 'object' && middleware !== null ? middleware : {}) as { readonly key?: unknown }
  return typeof key === 'string' ? key : ''
}

import { satisfies } from '../util/satisfies.js'
import { suggest } from '../util/suggest.js'

/** One plugin of the graph. */
export interface GraphNode {
  readonly name: string
  readonly version: string
  /** `database` or `database@^1.0.0`. */
  readonly dependencies: readonly string[]
  readonly uses: readonly { readonly service: string; readonly optional: boolean }[]
  readonly provides: readonly string[]
  /** Plugins that come after this one if they are enabled. */
  readonly before?: readonly string[]
}

/** Why one plugin comes after another. */
export interface Edge {
  readonly on: string
  readonly why: string
}

export interface PluginGraph {
  /** Dependencies come first; the given order breaks ties. */
  readonly order: readonly string[]
  /** Plugins of one level do not depend on each other. */
  readonly levels: readonly (readonly string[])[]
  edgesOf(name: string): readonly Edge[]
  /** Plugins that cannot run without this one, directly or through others. */
  dependentsOf(name: string): readonly string[]
  /** These plugins and all their dependencies. */
  closureOf(names: readonly string[]): ReadonlySet<string>
}

export interface GraphResult {
  /** Of all plugins that nothing is wrong with, so that their own problems can be found. */
  readonly graph: PluginGraph
  readonly problems: readonly string[]
  /** Plugins with a problem, and those that use them. */
  readonly leftOut: ReadonlySet<string>
}

interface GraphProblem {
  readonly message: string
  /** Those that cannot be sorted because of it. */
  readonly plugins: readonly string[]
}

interface DirectedEdge extends Edge {
  readonly hard: boolean
}

/**
 * Sorts plugins by their dependencies. Reports every duplicate, missing plugin or service, unmet version range and cycle.
 * `external` lists services that are not provided by plugins.
 */
export function buildGraph(nodes: readonly GraphNode[], external: ReadonlySet<string> = new Set()): GraphResult {
  const problems: GraphProblem[] = []
  for (let rest = nodes; ; ) {
    const result = sortAll(rest, external)
    if ('graph' in result) {
      const sorted = new Set(result.graph.order)
      return {
        graph: result.graph,
        problems: problems.map(({ message }) => message),
        leftOut: new Set(nodes.map(({ name }) => name).filter((name) => !sorted.has(name))),
      }
    }
    problems.push(...result.problems)
    const out = withUsers(new Set(result.problems.flatMap(({ plugins }) => plugins)), rest)
    rest = rest.filter(({ name }) => !out.has(name))
  }
}

function sortAll(
  nodes: readonly GraphNode[],
  external: ReadonlySet<string>,
): { readonly graph: PluginGraph } | { readonly problems: readonly GraphProblem[] } {
  const problems = [...duplicateNames(nodes), ...duplicateProviders(nodes)]
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const providerOf = new Map(nodes.flatMap((node) => node.provides.map((service) => [service, node.name] as const)))
  const edges = new Map(nodes.map((node) => [node.name, edgesFrom(node, byName, providerOf, external, problems)]))
  if (problems.length > 0) return { problems }

  const sorted = sort(
    nodes.map((node) => node.name),
    edges,
  )
  if ('cycle' in sorted) return { problems: [{ message: describeCycle(sorted.cycle, edges), plugins: sorted.cycle }] }
  return { graph: makeGraph(sorted.levels, edges) }
}

/** Adds the plugins that use one of these: what they lack then is no problem of theirs. */
function withUsers(out: Set<string>, nodes: readonly GraphNode[]): ReadonlySet<string> {
  const providers = (service: string): readonly GraphNode[] => nodes.filter(({ provides }) => provides.includes(service))
  const isGone = (service: string): boolean => {
    const all = providers(service)
    return all.length > 0 && all.every(({ name }) => out.has(name))
  }
  for (let before = -1; before < out.size; ) {
    before = out.size
    for (const { name, dependencies, uses } of nodes)
      if (dependencies.some((one) => out.has(splitRange(one)[0] ?? '')) || uses.some(({ service }) => isGone(service))) out.add(name)
  }
  return out
}

function duplicateNames(nodes: readonly GraphNode[]): GraphProblem[] {
  const names = nodes.map((node) => node.name)
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))].map((name) => ({
    message: `${name}: registered twice; remove one of the two entries from "plugins"`,
    plugins: [name],
  }))
}

function duplicateProviders(nodes: readonly GraphNode[]): GraphProblem[] {
  const seen = new Map<string, string>()
  const problems: GraphProblem[] = []
  for (const node of nodes) {
    for (const service of node.provides) {
      const first = seen.get(service)
      if (first !== undefined && first !== node.name)
        problems.push({
          message: `${node.name}: provides service "${service}", which ${first} already provides; enable one of them`,
          plugins: [node.name],
        })
      seen.set(service, node.name)
    }
  }
  return problems
}

function edgesFrom(
  node: GraphNode,
  byName: ReadonlyMap<string, GraphNode>,
  providerOf: ReadonlyMap<string, string>,
  external: ReadonlySet<string>,
  problems: GraphProblem[],
): DirectedEdge[] {
  const edges: DirectedEdge[] = []
  const complain = (message: string): void => void problems.push({ message, plugins: [node.name] })
  for (const dependency of node.dependencies) {
    const [name = '', range] = splitRange(dependency)
    const found = byName.get(name)
    if (found === undefined) complain(missingPlugin(node.name, name, [...byName.keys()]))
    else if (range !== undefined && !satisfies(found.version, range))
      complain(`${node.name}: needs ${name}@${range}, but ${name} is ${found.version}; upgrade one of them`)
    else edges.push({ on: name, why: `depends on ${dependency}`, hard: true })
  }
  for (const use of node.uses) {
    const provider = providerOf.get(use.service)
    if (provider === node.name) continue
    if (provider !== undefined) edges.push({ on: provider, why: `uses ${use.service}`, hard: !use.optional })
    else if (!use.optional && !external.has(use.service)) {
      complain(missingService(node.name, use.service, [...providerOf.keys()]))
    }
  }
  for (const { before = [], name } of byName.values())
    if (before.includes(node.name)) edges.push({ on: name, why: `comes after ${name}`, hard: false })
  return edges
}

function splitRange(dependency: string): [string?, string?] {
  const at = dependency.indexOf('@', 1)
  return at < 0 ? [dependency] : [dependency.slice(0, at), dependency.slice(at + 1)]
}

function missingPlugin(plugin: string, name: string, known: readonly string[]): string {
  const near = suggest(name, known)
  return `${plugin}: depends on plugin "${name}", which is not enabled; ${near === undefined ? `add it to "plugins" in zin.config.ts` : `did you mean "${near}"?`}`
}

function missingService(plugin: string, service: string, known: readonly string[]): string {
  const near = suggest(service, known)
  // By convention, the id of a service begins with the name of its plugin.
  const [provider] = service.split('.')
  const hint =
    near === undefined
      ? `add the plugin that provides it, probably "${provider}", to "plugins" in zin.config.ts`
      : `did you mean "${near}"?`
  return `${plugin}: uses service "${service}", which no enabled plugin provides; ${hint}`
}

/** Sorts by Kahn's algorithm into levels; returns the plugins of a cycle if there is one. */
function sort(names: readonly string[], edges: ReadonlyMap<string, readonly Edge[]>): { levels: string[][] } | { cycle: string[] } {
  const levels: string[][] = []
  const done = new Set<string>()
  let rest = [...names]
  while (rest.length > 0) {
    const level = rest.filter((name) => (edges.get(name) ?? []).every((edge) => done.has(edge.on)))
    if (level.length === 0) return { cycle: findCycle(rest, edges) }
    for (const name of level) done.add(name)
    levels.push(level)
    rest = rest.filter((name) => !done.has(name))
  }
  return { levels }
}

/** Every plugin in `stuck` depends on another one in it, so following the edges leads to a cycle. */
function findCycle(stuck: readonly string[], edges: ReadonlyMap<string, readonly Edge[]>): string[] {
  const path: string[] = []
  let at = stuck[0] as string
  while (!path.includes(at)) {
    path.push(at)
    at = (edges.get(at) ?? []).find((edge) => stuck.includes(edge.on))?.on as string
  }
  return [...path.slice(path.indexOf(at)), at]
}

function describeCycle(cycle: readonly string[], edges: ReadonlyMap<string, readonly Edge[]>): string {
  const steps = cycle.slice(1).map((to, index) => {
    const why = (edges.get(cycle[index] as string) ?? []).find((edge) => edge.on === to)?.why
    return `→ ${to} (${cycle[index]} ${why})`
  })
  return `${cycle[0]}: circular dependency: ${cycle[0]} ${steps.join(' ')}; make one of these services optional, or split a plugin`
}

function makeGraph(levels: readonly (readonly string[])[], edges: ReadonlyMap<string, readonly DirectedEdge[]>): PluginGraph {
  const order = levels.flat()
  const reach = (from: readonly string[], next: (name: string) => readonly string[]): Set<string> => {
    const found = new Set(from)
    for (const name of found) for (const other of next(name)) found.add(other)
    return found
  }
  return {
    order,
    levels,
    edgesOf: (name) => edges.get(name) ?? [],
    dependentsOf: (name) => {
      const all = reach([name], (at) => order.filter((other) => edges.get(other)?.some((edge) => edge.hard && edge.on === at)))
      all.delete(name)
      return order.filter((other) => all.has(other))
    },
    closureOf: (names) => reach(names, (at) => (edges.get(at) ?? []).map((edge) => edge.on)),
  }
}

import type { DocumentNode, FieldNode, FragmentDefinitionNode, SelectionSetNode, ValueNode } from 'graphql'

/** Limits per request. */
export const limits = { tokens: 1_000, depth: 5, aliases: 15, cost: 300 } as const

export interface Measure {
  readonly depth: number
  readonly aliases: number
  /** Jobs that may be read, plus one per other root field. */
  readonly cost: number
}

const nothing: Measure = { depth: 0, aliases: 0, cost: 0 }

/**
 * Measures the depth, aliases and cost of a document, including fragments. Each fragment is measured only once, which keeps the time linear
 * for nested fragments. A fragment that contains itself counts as empty there; validation rejects it. Pure.
 */
export function measure(document: DocumentNode, variables: Readonly<Record<string, unknown>>): Measure {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions) if (node.kind === 'FragmentDefinition') fragments.set(node.name.value, node)
  const known = new Map<string, Measure>()

  const ofFragment = (name: string): Measure => {
    const found = known.get(name)
    if (found !== undefined) return found
    known.set(name, nothing)
    const fragment = fragments.get(name)
    const measured = fragment === undefined ? nothing : ofSelections(fragment.selectionSet)
    known.set(name, measured)
    return measured
  }
  const ofField = (field: FieldNode): Measure => {
    const inner = field.selectionSet === undefined ? nothing : ofSelections(field.selectionSet)
    return {
      depth: inner.depth + 1,
      aliases: inner.aliases + (field.alias === undefined ? 0 : 1),
      cost: inner.cost + costOf(field, variables),
    }
  }
  const ofSelections = ({ selections }: SelectionSetNode): Measure =>
    selections
      .map((node) => {
        if (node.kind === 'Field') return ofField(node)
        return node.kind === 'InlineFragment' ? ofSelections(node.selectionSet) : ofFragment(node.name.value)
      })
      .reduce(
        (all, one) => ({ depth: Math.max(all.depth, one.depth), aliases: all.aliases + one.aliases, cost: all.cost + one.cost }),
        nothing,
      )

  const operations = document.definitions.flatMap((node) => (node.kind === 'OperationDefinition' ? [ofSelections(node.selectionSet)] : []))
  return operations.reduce(
    (all, one) => ({ depth: Math.max(all.depth, one.depth), aliases: all.aliases + one.aliases, cost: all.cost + one.cost }),
    nothing,
  )
}

/** Returns the cost of a root field. */
function costOf({ arguments: args = [], name }: FieldNode, variables: Readonly<Record<string, unknown>>): number {
  if (name.value === 'job') return 10
  if (name.value === 'queueStats' || name.value === 'queue') return 1
  if (name.value !== 'jobs') return 0
  const limit = args.find((arg) => arg.name.value === 'limit')?.value
  return limit === undefined ? 20 : Math.max(1, numberOf(limit, variables))
}

/** Returns the numeric value of an argument; the maximum if it is unknown. */
function numberOf(value: ValueNode, variables: Readonly<Record<string, unknown>>): number {
  const given = value.kind === 'IntValue' ? Number(value.value) : value.kind === 'Variable' ? variables[value.name.value] : undefined
  return typeof given === 'number' && Number.isFinite(given) ? given : 100
}

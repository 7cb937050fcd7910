import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildGraph, type GraphNode, type PluginGraph } from './graph.js'

const node = (name: string, more: Partial<GraphNode> = {}): GraphNode => ({
  name,
  version: '1.0.0',
  dependencies: [],
  uses: [],
  provides: [],
  ...more,
})
const uses = (...services: string[]) => services.map((service) => ({ service, optional: false }))

function graphOf(...nodes: GraphNode[]): PluginGraph {
  const result = buildGraph(nodes)
  assert.deepEqual([result.problems, result.leftOut.size], [[], 0])
  return result.graph
}

function problemsOf(...nodes: GraphNode[]): readonly string[] {
  return buildGraph(nodes).problems
}

describe('the plugin graph', () => {
  it('puts dependencies first and keeps the given order otherwise', () => {
    const graph = graphOf(node('c', { uses: uses('a') }), node('b'), node('a', { provides: ['a'] }))
    assert.deepEqual(graph.levels, [['b', 'a'], ['c']])
    assert.deepEqual(graph.order, ['b', 'a', 'c'])
    assert.deepEqual(
      graph.edgesOf('c').map(({ on, why }) => ({ on, why })),
      [{ on: 'a', why: 'uses a' }],
    )
  })

  it('orders a plugin after an optional service if there is one, and works without it', () => {
    const use = [{ service: 'mail', optional: true }]
    assert.deepEqual(graphOf(node('x', { uses: use }), node('mailer', { provides: ['mail'] })).order, ['mailer', 'x'])
    assert.deepEqual(graphOf(node('x', { uses: use })).order, ['x'])
  })

  it('names what a plugin is missing, with a suggestion', () => {
    assert.deepEqual(problemsOf(node('canary', { dependencies: ['worker'] }), node('workers')), [
      'canary: depends on plugin "worker", which is not enabled; did you mean "workers"?',
    ])
    assert.match(problemsOf(node('x', { uses: uses('kv') }))[0] ?? '', /x: uses service "kv", which no enabled plugin provides/)
  })

  it('counts external services as provided', () => {
    assert.deepEqual(buildGraph([node('x', { uses: uses('kv') })], new Set(['kv'])).problems, [])
  })

  it('sorts what nothing is wrong with, and reports only what is wrong itself', () => {
    const result = buildGraph([
      node('fine', { provides: ['fine'] }),
      node('also-fine', { uses: uses('fine') }),
      node('lacks', { provides: ['lacks'], dependencies: ['nothing-like-it'] }),
      node('user', { provides: ['user'], uses: [{ service: 'lacks', optional: true }] }),
      node('user-of-user', { dependencies: ['user'] }),
      ...['one', 'two'].map((name) => node(name, { provides: [name], uses: uses(name === 'one' ? 'two' : 'one') })),
      node('behind', { uses: uses('one') }),
      node('first', { provides: ['same'] }),
      node('second', { provides: ['same'] }),
      node('of-same', { uses: uses('same') }),
      node('twice'),
      node('twice'),
      node('self', { provides: ['self'], dependencies: ['self'] }),
    ])
    assert.deepEqual(result.graph.order, ['fine', 'first', 'also-fine', 'of-same'])
    assert.deepEqual(
      result.problems.map((problem) => problem.slice(0, problem.indexOf(':'))),
      ['twice', 'second', 'lacks', 'one', 'self'],
    )
    assert.deepEqual([...result.leftOut], ['lacks', 'user', 'user-of-user', 'one', 'two', 'behind', 'second', 'twice', 'self'])
  })

  it('prints the path of a cycle with the reason of each step', () => {
    const [problem] = problemsOf(
      node('login', { uses: uses('devices') }),
      node('devices', { provides: ['devices'], uses: uses('tokens') }),
      node('jwt', { provides: ['tokens'], dependencies: ['devices'] }),
    )
    assert.match(problem ?? '', /circular dependency: devices → jwt \(devices uses tokens\) → devices \(jwt depends on devices\)/)
  })

  it('reports all problems at once', () => {
    assert.equal(problemsOf(node('a'), node('a'), node('b', { dependencies: ['zzz'] })).length, 2)
  })

  it('refuses two providers of one service', () => {
    assert.deepEqual(problemsOf(node('a', { provides: ['s'] }), node('b', { provides: ['s'] })), [
      'b: provides service "s", which a already provides; enable one of them',
    ])
  })

  it('checks version ranges', () => {
    assert.deepEqual(graphOf(node('b', { dependencies: ['a@^1.0.0'] }), node('a')).order, ['a', 'b'])
    assert.deepEqual(problemsOf(node('b', { dependencies: ['a@^2.0.0'] }), node('a')), [
      'b: needs a@^2.0.0, but a is 1.0.0; upgrade one of them',
    ])
  })

  it('finds dependents over hard edges only, and the closure over all edges', () => {
    const graph = graphOf(
      node('db', { provides: ['db'] }),
      node('kv', { uses: uses('db'), provides: ['kv'] }),
      node('jwt', { uses: [{ service: 'kv', optional: true }] }),
      node('workers', { uses: uses('kv') }),
    )
    assert.deepEqual(graph.dependentsOf('db'), ['kv', 'workers'])
    assert.deepEqual([...graph.closureOf(['jwt'])].sort(), ['db', 'jwt', 'kv'])
  })
})

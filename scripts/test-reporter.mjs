// A node:test reporter that writes one JSON line for each finished test, for scripts/test.ts.
import { inspect } from 'node:util'

export default async function* report(source) {
  const names = []
  for await (const { type, data } of source) {
    // Such as an error that a test caused after its end.
    if (type === 'test:diagnostic' && /asynchronous activity/.test(data.message)) yield `${JSON.stringify({ note: data.message })}\n`
    if (type === 'test:start') names.splice(data.nesting, names.length, data.name)
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const [file, ...title] = names.slice(0, data.nesting + 1)
    const suite = data.details.type === 'suite'
    const line = { file, title: title.join(' › '), ms: data.details.duration_ms, suite }
    // A suite fails when its tests fail; report only failures of the suite itself (import, hook).
    const failed = type === 'test:fail' && data.details.error?.failureType !== 'subtestsFailed'
    if (failed) line.error = textOf(data.details.error)
    if (data.skip !== undefined || data.todo !== undefined) line.error = 'the test is skipped or marked as todo'
    yield `${JSON.stringify(line)}\n`
  }
}

function textOf(error) {
  // node:test wraps what a test threw.
  const cause = error?.code === 'ERR_TEST_FAILURE' ? (error.cause ?? error) : error
  return cause instanceof Error ? (cause.stack ?? cause.message) + differences(cause) + causeOf(cause) : inspect(cause)
}

function causeOf({ cause }) {
  return cause === undefined ? '' : `\ncause: ${textOf(cause)}`
}

function differences(error) {
  if (error.code !== 'ERR_ASSERTION' || error.generatedMessage) return ''
  return `\nactual: ${inspect(error.actual)}\nexpected: ${inspect(error.expected)}`
}
